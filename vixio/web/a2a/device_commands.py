"""What A2A asks of a device's session: its tools, and calls of them. In the device's process."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from vixio.core.session.commands import CustomHandler
from vixio.core.session.session import Session
from vixio.core.tools.toolset import DEVICE_SOURCE
from vixio.core.tools.types import JsonObject, ToolDefinition

LIST: Final = "a2a.tools"
CALL: Final = "a2a.call"

MAX_LIST_CHARS: Final = 100_000
"""Of all descriptions together; a command's answer has 256 KB at most."""


def serve_device_commands(register: Callable[[str, CustomHandler], None]) -> None:
    """Have sessions carry out the commands of this module."""
    register(LIST, list_tools)
    register(CALL, call_tool)


async def list_tools(session: Session, arguments: JsonObject) -> Any:  # noqa: ANN401 - JSON
    """Return the tools that the device may be asked to use, and its name."""
    listed: list[JsonObject] = []
    characters = 0
    for tool in _tools(session):
        schema = json.dumps(tool.parameters, ensure_ascii=False, sort_keys=True)
        characters += len(tool.name) + len(tool.description) + len(schema)
        if characters > MAX_LIST_CHARS:
            break
        listed.append({"name": tool.name, "description": tool.description, "schema": schema})
    return {"name": session.profile.name, "tools": listed}


async def call_tool(session: Session, arguments: JsonObject) -> Any:  # noqa: ANN401 - JSON
    """Call a tool of the device. Raises ValueError if there is no such tool for A2A."""
    name, given = arguments.get("tool"), arguments.get("arguments")
    tool = next((tool for tool in _tools(session) if tool.name == name), None)
    session_tools = session.context.session_tools
    if tool is None or session_tools is None:
        raise ValueError("the device has no such tool")
    turn = session_tools.begin_turn(0, session.context.language)
    result = await turn.run(tool, json.dumps(given or {}))
    return {"success": result.success, "text": result.in_words()}


def _tools(session: Session) -> list[ToolDefinition]:
    """Return the device's tools without those that need its user's yes, which cannot be given."""
    tools = session.context.tools.source(DEVICE_SOURCE)
    return [tool for tool in tools if not tool.may_ask]

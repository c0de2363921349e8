"""What the API asks of a device's session, in the device's process."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

from vixio.core.emotions import EMOTIONS
from vixio.core.errors import ConnectionClosed, ToolError, describe
from vixio.core.session.commands import CustomHandler
from vixio.core.session.session import Session
from vixio.core.tools.device import DeviceToolClientBase
from vixio.core.tools.types import JsonObject, ToolDefinition
from vixio.data.memory.memory import Memory

_log = logging.getLogger(__name__)

ALERT: Final = "api.alert"
FACE: Final = "api.face"
TOOLS: Final = "api.tools"
CALL: Final = "api.call"
FETCH: Final = "api.fetch"
REBOOT: Final = "api.reboot"
CUSTOM: Final = "api.custom"
UPGRADE: Final = "api.upgrade"
RELOAD: Final = "api.memory.reload"

SNAPSHOT: Final = "self.screen.snapshot"
"""The firmware's tool (mcp_server.cc, AddUserOnlyTools), of boards with a colour screen."""

PREVIEW: Final = "self.screen.preview_image"
"""Likewise."""

SET_ASSETS: Final = "self.assets.set_download_url"
OWN_REBOOT: Final = "self.reboot"
"""The firmware's tool (mcp_server.cc, AddUserOnlyTools)."""

MAX_LIST_CHARS: Final = 100_000
"""Of all descriptions together; a command's answer has 256 KB at most."""

MAX_RESULT_CHARS: Final = 60_000


def serve_device_commands(
    register: Callable[[str, CustomHandler], None], memory: Memory | None
) -> None:
    """Have sessions carry out the commands of this module."""

    async def reload_memory(session: Session, arguments: JsonObject) -> Any:  # noqa: ANN401 - JSON
        """Follow what was changed in the memory of the device."""
        if memory is not None:
            await memory.reload(session.device_id)

    register(RELOAD, reload_memory)
    register(ALERT, show_alert)
    register(FACE, change_face)
    register(TOOLS, list_tools)
    register(CALL, call_tool)
    register(FETCH, call_with_url)
    register(REBOOT, reboot)
    register(CUSTOM, send_custom)


async def show_alert(session: Session, arguments: JsonObject) -> Any:  # noqa: ANN401 - JSON
    """Show a notice. Raises ConnectionClosed."""
    title, text, emotion = (arguments[name] for name in ("title", "text", "emotion"))
    await session.endings.show((title, text, emotion))


async def change_face(session: Session, arguments: JsonObject) -> Any:  # noqa: ANN401 - JSON
    """Change the face. Raises ConnectionClosed."""
    name = arguments["emotion"]
    await session.connection.send_emotion(name, EMOTIONS[name])


async def list_tools(session: Session, arguments: JsonObject) -> Any:  # noqa: ANN401 - JSON
    """Return the tools that the assistant may use, or with ``user`` the others.

    Raises ToolError.
    """
    listed: list[JsonObject] = []
    characters = 0
    for tool in await _tools(session, user=arguments["user"]):
        entry = {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        }
        characters += len(str(entry))
        if characters > MAX_LIST_CHARS:
            break
        listed.append(entry)
    return listed


async def call_tool(session: Session, arguments: JsonObject) -> Any:  # noqa: ANN401 - JSON
    """Call a tool; ``user``: one of those that the assistant may not use. Raises ToolError."""
    name = arguments["tool"]
    tools = await _tools(session, user=arguments["user"])
    if all(tool.name != name for tool in tools):
        return None
    result = await _client(session).call_tool(name, arguments["arguments"])
    text = str(result.result if result.success else result.error)
    return {"success": result.success, "text": text[:MAX_RESULT_CHARS]}


async def call_with_url(session: Session, arguments: JsonObject) -> Any:  # noqa: ANN401 - JSON
    """Call a tool with the URL of a path of this server, as this device reaches it.

    Raises ToolError.
    """
    url = f"{session.connection.device.http_url}{arguments['path']}"
    asked = {"url": url, **arguments["arguments"]}
    return await call_tool(session, {**arguments, "arguments": asked, "user": True})


async def reboot(session: Session, arguments: JsonObject) -> Any:  # noqa: ANN401 - JSON
    """Have the device restart: by its own tool, which answers; else by the protocol's message.

    A device without MCP, or older than the tool, knows the message alone. Raises ConnectionClosed.
    """
    try:
        asked = {"tool": OWN_REBOOT, "arguments": {}, "user": True}
        answer = await call_tool(session, asked)
    except (ConnectionClosed, ToolError) as error:
        _log.debug("no tool restarts the device", extra={"error": describe(error)})
        answer = None
    if answer is not None and answer["success"]:
        return answer
    await session.connection.send_reboot()
    return {"success": True, "text": "sent"}


async def send_custom(session: Session, arguments: JsonObject) -> Any:  # noqa: ANN401 - JSON
    """Send a JSON object to the device. Raises ConnectionClosed."""
    await session.connection.send_custom(arguments["payload"])


async def _tools(session: Session, *, user: bool) -> list[ToolDefinition]:
    client = _client(session)
    return await (client.list_user_tools() if user else client.list_tools())


def _client(session: Session) -> DeviceToolClientBase:
    client = session.connection.tool_client
    if client is None:
        raise ConnectionClosed("the device has no tools")
    return client

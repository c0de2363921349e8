"""Turns of the real agent with tools, and the requests of the stand-in model."""

from __future__ import annotations

import json
from typing import Any

from tests.support.llm_server import LLMServer
from tests.support.tool_turns import Talk
from vixio.core.device import DeviceProfile
from vixio.core.tools.runtime import ToolRuntime
from vixio.providers.openai_agent.backend import OpenAIAgentBackend


def made(
    runtime: ToolRuntime,
    backend: OpenAIAgentBackend,
    device_id: str = "aa:bb",
    profile: DeviceProfile | None = None,
) -> Talk:
    return Talk(runtime, backend.create(), device_id, profile)


def outputs(server: LLMServer, request: int = -1) -> list[str]:
    """Return the tools' outputs in one of the model's requests."""
    messages = server.requests[request]["messages"]
    return [message["content"] for message in messages if message["role"] == "tool"]


def error(output: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(output)["error"]
    return found

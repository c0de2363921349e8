"""When a device's tools are converted for the model."""

from __future__ import annotations

import pytest

from tests.support.llm_server import LLMServer, text
from vixio.core.chunk import TextDelta
from vixio.core.tools.function import FunctionCaller
from vixio.core.tools.types import ToolDefinition
from vixio.providers.agent import AgentRequest
from vixio.providers.openai_agent import provider
from vixio.providers.openai_agent.backend import OpenAIAgentBackend
from vixio.providers.openai_agent.model import ModelTool


def _tool(name: str) -> ToolDefinition:
    async def execute() -> str:
        return "done"

    return ToolDefinition(name, "", caller=FunctionCaller(execute))


async def test_no_turn_waits_for_the_conversion_of_tools(
    server: LLMServer, backend: OpenAIAgentBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    converted: list[str] = []
    convert = provider._convert

    def noted(tool: ToolDefinition) -> ModelTool:
        converted.append(tool.name)
        return convert(tool)

    monkeypatch.setattr(provider, "_convert", noted)
    agent = backend.create()
    await agent.initialize()
    await agent.update_tools([_tool("lamp.on"), _tool("lamp.off")])
    assert converted == ["lamp.on", "lamp.off"]
    server.script(text("Hello."), text("Hello."))
    for number in (1, 2):
        events = [event async for event in agent.reply(AgentRequest(number, "hi"))]
        said = "".join(event.text for event in events if isinstance(event, TextDelta))
        assert said == "Hello."
    assert converted == ["lamp.on", "lamp.off"]
    offered = [tool["function"]["name"] for tool in server.requests[0]["tools"]]
    assert offered == ["lamp_on", "lamp_off"]
    await agent.update_tools([_tool("lamp.on"), _tool("lamp.dim")])
    assert converted[2:] == ["lamp.on", "lamp.dim"]  # its caller is another one
    await agent.close()

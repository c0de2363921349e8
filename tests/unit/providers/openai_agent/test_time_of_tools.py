"""The limit of the model calls of a turn does not count the time of tools, which have their own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from vixio.core.chunk import Chunk, TextDelta, ToolReturned
from vixio.core.metrics import ModelUse
from vixio.core.tools.function import FunctionCaller
from vixio.core.tools.types import ToolDefinition, ToolOptions
from vixio.providers.agent import AgentRequest
from vixio.providers.openai_agent.model import Answer, ModelCall, ModelStream, ModelTool, Words
from vixio.providers.openai_agent.settings import TurnSettings
from vixio.providers.openai_agent.turn_loop import TurnLoop
from vixio.testing.clock import run_virtual

LIMIT = 90.0
PATIENCE = 3_000.0


class OneCall:
    """Calls the tool, then answers."""

    def __init__(self) -> None:
        self.asked = 0

    async def stream(self, call: ModelCall) -> ModelStream:
        self.asked += 1
        if self.asked == 1:
            item = {"type": "function_call", "call_id": "c", "name": "wait", "arguments": "{}"}
            yield Answer((item,), ModelUse("m", 1, 1))
        else:
            yield Words("Fine.")
            yield Answer((), ModelUse("m", 1, 1))


def test_a_tool_may_take_longer_than_the_model() -> None:
    async def wait() -> str:
        await asyncio.sleep(PATIENCE)
        return "done"

    options = ToolOptions(timeout=2 * PATIENCE)
    tool = ToolDefinition("wait", "", options=options, caller=FunctionCaller(wait), alias="wait")

    async def tools() -> Sequence[ModelTool]:
        return [ModelTool("wait", "", {"type": "object", "properties": {}}, tool)]

    async def run() -> list[Chunk]:
        limits = TurnSettings(turn_timeout=LIMIT)
        loop = TurnLoop("m", OneCall(), tools, limits, AgentRequest(1, "hello"))
        return [event async for event in loop.run("", [])]

    events = run_virtual(run())
    assert [event.output for event in events if isinstance(event, ToolReturned)] == ["done"]
    assert events[-1] == TextDelta(1, "Fine.")

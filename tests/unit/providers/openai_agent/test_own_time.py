"""A tool that waits for a person has its own time, which the turn's limit does not count."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from vixio.core.chunk import Chunk, TextDelta, ToolReturned
from vixio.core.errors import ProviderTimeout
from vixio.core.metrics import ModelUse
from vixio.core.tools.function import FunctionCaller
from vixio.core.tools.types import ToolDefinition, ToolOptions
from vixio.providers.agent import AgentRequest
from vixio.providers.openai_agent.model import Answer, ModelCall, ModelStream, ModelTool, Words
from vixio.providers.openai_agent.settings import TurnSettings
from vixio.providers.openai_agent.turn_loop import TurnLoop
from vixio.testing.clock import run_virtual

LIMIT = 45.0
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


def turn(*, own_time: bool) -> list[Chunk]:
    """Run a turn whose tool takes a time that no turn may take."""

    async def wait() -> str:
        await asyncio.sleep(PATIENCE)
        return "done"

    options = ToolOptions(timeout=2 * PATIENCE, own_time=own_time)
    tool = ToolDefinition("wait", "", options=options, caller=FunctionCaller(wait), alias="wait")

    async def tools() -> Sequence[ModelTool]:
        return [ModelTool("wait", "", {"type": "object", "properties": {}}, tool)]

    async def run() -> list[Chunk]:
        limits = TurnSettings(turn_timeout=LIMIT)
        loop = TurnLoop("m", OneCall(), tools, limits, AgentRequest(1, "hello"))
        return [event async for event in loop.run("", [])]

    return run_virtual(run())


def test_its_time_is_its_own() -> None:
    events = turn(own_time=True)
    assert [event.output for event in events if isinstance(event, ToolReturned)] == ["done"]
    assert events[-1] == TextDelta(1, "Fine.")


def test_that_of_others_is_the_turns() -> None:
    with pytest.raises(ProviderTimeout, match="45"):
        turn(own_time=False)

"""The limit of the model calls of a turn counts what is waited for: no tools, no steady words."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from vixio.core.chunk import Chunk, TextDelta, ToolReturned
from vixio.core.clock import now
from vixio.core.errors import ProviderTimeout
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


class Slow:
    """Writes so many words, each so many seconds behind the one before."""

    def __init__(self, words: int, seconds: float) -> None:
        self.words = words
        self.seconds = seconds

    async def stream(self, call: ModelCall) -> ModelStream:
        for _ in range(self.words):
            await asyncio.sleep(self.seconds)
            yield Words("and ")
        yield Answer((), ModelUse("m", 1, 1))


@pytest.mark.parametrize(
    ("model", "ends"),
    [
        pytest.param(Slow(1_000, 0.5), 500.0, id="steadily"),
        pytest.param(Slow(100, 4.0), 1.0 + LIMIT / 3 * 4 - 1.0 / 3 * 4, id="haltingly"),
    ],
)
def test_a_slow_model_may_write_for_long(model: Slow, ends: float) -> None:
    async def none() -> Sequence[ModelTool]:
        return []

    async def run() -> float:
        limits = TurnSettings(turn_timeout=LIMIT)
        loop = TurnLoop("m", model, none, limits, AgentRequest(1, "tell me a story"))
        try:
            async for _ in loop.run("", []):
                pass
        except ProviderTimeout:
            assert model.seconds > 1
        else:
            assert model.seconds < 1
        return now()

    assert run_virtual(run()) == pytest.approx(ends, abs=4.0)

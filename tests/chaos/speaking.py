"""Agent and TTS of the server under attack: real tool calls, the real eSpeak NG, and faults."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from tests.chaos import tones
from tests.chaos.faults import FOREVER, meet, stubborn
from tests.chaos.hearing import MEGABYTES
from tests.chaos.plan import Plan
from vixio.core.chunk import TextDelta, ToolCalled, ToolReturned
from vixio.core.clock import now
from vixio.core.tools.runner import DIRECT
from vixio.core.tools.types import ToolDefinition
from vixio.providers.agent import (
    AgentBackend,
    AgentEvent,
    AgentProvider,
    AgentRequest,
    SystemPrompt,
)
from vixio.providers.tts import TTSProvider

SPOKEN = 5
"""Characters of a sentence that are spoken, unless it is the answer to a number."""


class NumberBackend(AgentBackend):
    """Agents that answer a number with the same number, and call what they are told to call."""

    name = "numbers"

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.running = 0
        self.open_agents = 0

    async def start(self) -> None:
        """Nothing is heavy."""

    def create(self) -> AgentProvider:
        """Return the agent of one session."""
        return NumberAgent(self, self._plan)

    async def close(self) -> None:
        """Nothing to release."""


class NumberAgent(AgentProvider):
    """``number N``, ``call ALIAS JSON`` and ``look ALIAS`` are all that it understands.

    What is looked at is shown with all tools of its source.
    """

    name = "numbers"

    def __init__(self, backend: NumberBackend, plan: Plan) -> None:
        self._backend = backend
        self._plan = plan
        self._tools: tuple[ToolDefinition, ...] = ()
        self._open = True
        backend.open_agents += 1

    async def initialize(
        self, tools: Sequence[Any | ToolDefinition] = (), system_prompt: SystemPrompt = ""
    ) -> None:
        """Nothing is needed of either."""

    async def update_tools(self, tools: Sequence[Any | ToolDefinition]) -> None:
        """Keep the tools."""
        self._tools = tuple(tools)

    async def reply(self, request: AgentRequest) -> AsyncIterator[AgentEvent]:
        """Answer in a few pieces, as a model does."""
        self._backend.running += 1
        try:
            async for event in self._reply(request):
                yield event
        finally:
            self._backend.running -= 1

    async def close(self) -> None:
        """Give the agent back."""
        if self._open:
            self._open = False
            self._backend.open_agents -= 1

    async def _reply(self, request: AgentRequest) -> AsyncIterator[AgentEvent]:
        kind = self._plan.take("agent")
        if kind.startswith("late "):
            yield TextDelta(request.turn_id, "This is only the beginning. ")
            kind = kind.removeprefix("late ")
        await meet(kind, self._plan)
        if kind == "stubborn":
            yield TextDelta(request.turn_id, "Nobody wants to hear this any more. ")
            return
        if kind == "closes":
            yield TextDelta(request.turn_id, "Well, I would")
            return
        if kind == "nothing":
            return
        async for piece in _text(kind):
            yield TextDelta(request.turn_id, piece)
        if kind in {"megabytes", "endless"}:
            return
        words = request.text.split(" ", 2)
        if words[0] == "call":
            async for event in self._call(request, words[1], words[2]):
                yield event
            return
        if words[0] == "look":
            yield TextDelta(request.turn_id, self._look(words[1]))
            return
        number = re.fullmatch(r"number (\d+)", request.text)
        yield TextDelta(request.turn_id, "Answer ")
        await asyncio.sleep(0)
        yield TextDelta(request.turn_id, f"{number[1]}." if number else "unknown.")

    def _look(self, alias: str) -> str:
        tool = next((tool for tool in self._tools if tool.alias == alias), None)
        if tool is None:
            return "missing."
        own = [each for each in self._tools if each.source == tool.source]
        largest = max(len(each.description) + len(json.dumps(each.parameters)) for each in own)
        return f"from {tool.source}, {len(own)} tools, largest {largest}."

    async def _call(
        self, request: AgentRequest, alias: str, arguments: str
    ) -> AsyncIterator[AgentEvent]:
        turn_id = request.turn_id
        call_id = f"call-{turn_id}"
        yield ToolCalled(turn_id, call_id, alias, arguments)
        tool = next((tool for tool in self._tools if tool.alias == alias), None)
        if tool is None:
            yield TextDelta(turn_id, "No such tool.")
            return
        began = now()
        result = await (request.runner or DIRECT).run(tool, arguments, call_id)
        output = result.for_model()
        yield ToolReturned(turn_id, call_id, output, result.success, now() - began)
        verdict = "good" if result.success else result.error_type
        yield TextDelta(turn_id, f"It was {verdict}: {output[:40]}")


async def _text(kind: str) -> AsyncIterator[str]:
    """Yield what a provider gone wrong says besides its answer."""
    if kind == "trickle":
        for letter in "I am thinking about it, slowly. ":
            yield letter
            await asyncio.sleep(0.05)
    elif kind == "megabytes":
        yield "and so on " * (MEGABYTES // 10)
    elif kind == "endless":
        while True:  # without a single wait, as a proxy that lost its mind
            yield "blah"


class TonedTTS(TTSProvider):
    """eSpeak NG; a number in the text is heard as tones after the words."""

    name = "toned"

    def __init__(self, inner: TTSProvider, plan: Plan) -> None:
        self._inner = inner
        self._plan = plan
        self.sample_rate = inner.sample_rate
        self.running = 0

    async def start(self) -> None:
        """Load the voice."""
        await self._inner.start()
        self.sample_rate = self._inner.sample_rate

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Speak, and say the number once more in tones."""
        self.running += 1
        kind = self._plan.take("tts")
        try:
            if kind == "nothing":
                return
            async for pcm in self._faulty(kind):
                yield pcm
            # What else there is to say is read by those who ask; the run shall not wait for it.
            words = text if text.startswith("Answer") else text[:SPOKEN]
            async for pcm in self._inner.synthesize(words, language=language):
                yield pcm
                if self._plan.take("tts.middle"):
                    return
            if number := re.search(r"\d+", text):
                yield tones.tail(int(number[0]) % 4096, self.sample_rate)
        finally:
            self.running -= 1

    async def close(self) -> None:
        """Close the voice."""
        await self._inner.close()

    async def _faulty(self, kind: str) -> AsyncIterator[bytes]:
        if kind in {"late raise", "late hang"}:
            yield bytes(self.sample_rate)
            await meet(kind.removeprefix("late "), self._plan)
        if kind == "stubborn":
            await stubborn(self._plan)
        await meet(kind, self._plan)
        if kind == "trickle":
            for _ in range(20):
                yield bytes(self.sample_rate // 50 * 2)
                await asyncio.sleep(0.1)
        if kind == "odd":
            for size in (1, 3, 1, 4_411, 1):
                yield bytes(size)
        if kind == "megabytes":
            yield bytes(12 * MEGABYTES)


def broken_tools(plan: Plan) -> list[Callable[..., Awaitable[Any]]]:
    """Return local tools that do what no tool should."""

    async def tool_raises() -> str:
        """Raise."""
        raise ValueError("a tool's own mistake")

    async def tool_hangs() -> str:
        """Never return."""
        await asyncio.sleep(FOREVER)
        return ""

    async def tool_stubborn() -> str:
        """Return after being cancelled."""
        await stubborn(plan)
        return "late"

    async def tool_megabytes() -> str:
        """Return far too much."""
        return "x" * MEGABYTES

    async def tool_nonsense() -> Any:  # noqa: ANN401  what it returns has no JSON
        """Return what JSON cannot say."""
        return {"a": {1, 2}, "b": float("nan"), "c": "\ud800"}

    return [tool_raises, tool_hangs, tool_stubborn, tool_megabytes, tool_nonsense]

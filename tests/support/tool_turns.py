"""Turns of a real agent station with a tool runtime, without audio."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self

from vixio.core.chunk import Chunk, Sentence, TextDelta, ToolReturned, UserTurn
from vixio.core.device import DeviceProfile
from vixio.core.history import History
from vixio.core.station import StationContext
from vixio.core.tools.context import ToolContext
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.toolset import DEVICE_SOURCE
from vixio.core.tools.types import JsonObject, ToolCallResult, ToolDefinition, ToolOptions
from vixio.providers.agent import AgentProvider
from vixio.stations.agent import AgentStation
from vixio.stations.sentence_aggregator import SentenceAggregatorStation

LIMIT = 90.0


class FakeDevice:
    """The tools of one device, and the calls that it got."""

    def __init__(self, name: str = "device", answer: str = "true") -> None:
        self.name = name
        self.answers: dict[str, str] = {}
        self.asked: list[tuple[str, JsonObject]] = []
        self.delay = 0.0
        """Seconds before each answer."""
        self._answer = answer

    async def call_tool(
        self,
        tool_name: str,
        arguments: JsonObject,
        *,
        timeout: float | None = None,
        context: ToolContext | None = None,
    ) -> ToolCallResult:
        self.asked.append((tool_name, arguments))
        await asyncio.sleep(self.delay)
        return ToolCallResult("", True, self.answers.get(tool_name, self._answer))

    def tool(
        self, name: str, parameters: JsonObject | None = None, *, confirm: bool = False
    ) -> ToolDefinition:
        """Return a tool that this device executes."""
        return ToolDefinition(
            name,
            name.replace(".", " "),
            parameters or {},
            DEVICE_SOURCE,
            ToolOptions(confirm=confirm),
            caller=self,
        )


class Talk:
    """One session: its tools, its history, its agent."""

    def __init__(
        self,
        runtime: ToolRuntime,
        agent: AgentProvider,
        device_id: str = "aa:bb:cc",
        profile: DeviceProfile | None = None,
        language: str = "en",
    ) -> None:
        self.tools = runtime.open(device_id, f"session of {device_id}", profile)
        self.history = History()
        self.agent = agent
        self._spawned: set[asyncio.Task[None]] = set()
        self.context = StationContext(
            session_id=self.tools.session_id,
            device_id=device_id,
            history=self.history,
            tools=self.tools.toolset,
            counters=runtime.counters,
            spawn=self._spawn,
            language=language,
            session_tools=self.tools,
        )
        self._station = AgentStation(agent, follow_tools=True)
        self._sentences = SentenceAggregatorStation()
        for station in (self._station, self._sentences):
            station.bind(self.context, self._emit)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._station.close()
        await self.tools.close()

    async def turn(
        self, text: str, *, heard: bool = True, seen: Callable[[Chunk], None] | None = None
    ) -> list[Chunk]:
        """Say ``text`` and return all chunks of the reply; ``heard`` false: it was not played.

        ``seen`` is called with each chunk as it comes.
        """
        turn_id = self.history.next_turn_id()

        async def one() -> Any:  # noqa: ANN401 - an async generator
            yield UserTurn(turn_id, text)

        chunks: list[Chunk] = []
        async with asyncio.timeout(LIMIT):
            async for chunk in self._sentences.run(self._station.run(one())):
                chunks.append(chunk)
                if seen is not None:
                    seen(chunk)
        if heard:
            self.history.close(turn_id)
        else:
            self.history.cut(turn_id, "")
        return chunks

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._spawned.add(task)
        task.add_done_callback(self._spawned.discard)

    async def _emit(self, chunks: object) -> None:
        raise AssertionError(f"nothing is emitted here: {chunks}")


def spoken(chunks: list[Chunk]) -> list[str]:
    """Return the sentences."""
    return [chunk.spoken for chunk in chunks if isinstance(chunk, Sentence)]


def returned(chunks: list[Chunk]) -> list[ToolReturned]:
    """Return the tools' results."""
    return [chunk for chunk in chunks if isinstance(chunk, ToolReturned)]


def written(chunks: list[Chunk]) -> str:
    """Return the text of the deltas."""
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))

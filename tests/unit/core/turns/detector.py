"""A turn detector that is given packets, and a policy that keeps what it was asked."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from vixio.core.audio import LISTEN_RATE, pcm_bytes
from vixio.core.chunk import (
    AudioIn,
    Chunk,
    ListenMode,
    ListenStart,
    TurnEnded,
    TurnStarted,
    VoiceEnded,
    VoiceStarted,
)
from vixio.core.history import History
from vixio.core.metrics import Counters
from vixio.core.station import StationContext
from vixio.core.tools.toolset import ToolSet
from vixio.core.turns.endpointing import EndpointingPolicy, TurnProgress
from vixio.stations.turn_detector import TurnDetectorStation, TurnSettings

PACKET_S = 0.06


@dataclass
class Scripted:
    """A policy that answers by a function and keeps what it was asked."""

    answer: Callable[[TurnProgress], float]
    asked: list[TurnProgress] = field(default_factory=list)

    def required_silence(self, progress: TurnProgress) -> float:
        self.asked.append(progress)
        return self.answer(progress)


class Detector:
    """A turn detector fed with packets of 60 ms on a clock of its own."""

    def __init__(
        self,
        policy: EndpointingPolicy | None,
        mode: ListenMode,
        settings: TurnSettings | None = None,
    ) -> None:
        self.context = StationContext("s", "d", History(), ToolSet(), Counters(), refuse)
        make = None if policy is None else lambda: policy
        end_alone = TurnSettings(end_silence_ms=500, think_ms=0)
        self.station = TurnDetectorStation(settings or end_alone, make)
        self.station.bind(self.context, nowhere)
        self.now = 0.0
        self.made: list[Chunk] = []
        self.mode = mode

    async def feed(self, *chunks: Chunk) -> None:
        for chunk in chunks:
            self.made += await self.station.feed(chunk, self.now)

    async def audio(self, seconds: float) -> None:
        for _ in range(round(seconds / PACKET_S)):
            self.now += PACKET_S
            await self.feed(AudioIn(bytes(pcm_bytes(PACKET_S, LISTEN_RATE)), self.now))

    async def spoken(self) -> None:
        """Begin to listen, and speak for 1.2 s."""
        await self.feed(ListenStart(self.mode))
        await self.feed(VoiceStarted(0))
        await self.audio(1.2)
        await self.feed(VoiceEnded(0))

    def ended(self) -> list[TurnEnded]:
        return [chunk for chunk in self.made if isinstance(chunk, TurnEnded)]

    def deadline(self) -> float:
        deadline = self.station.deadline
        assert deadline is not None
        return deadline

    def turn_id(self) -> int:
        return next(chunk.turn_id for chunk in self.made if isinstance(chunk, TurnStarted))


def refuse(work: Coroutine[Any, Any, None]) -> None:
    raise AssertionError("a turn detector starts no task")


async def nowhere(_: object) -> None: ...

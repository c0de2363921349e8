"""The interface of a station, and what a session lends to its stations.

A station is either of the listening half (fed chunk by chunk, always on) or of the replying half
(composed into one stream, run once per turn, cancelled as a whole).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from vixio.core.chunk import Chunk, EarlyTranscript, PartialTranscript
from vixio.core.clock import now
from vixio.core.history import History
from vixio.core.metrics import Counters, TurnTimeline
from vixio.core.tools.toolset import ToolSet
from vixio.core.voice_latency import VoiceLatency

if TYPE_CHECKING:
    from vixio.core.tools.session import SessionTools

MAX_TIMELINES = 16
"""Records of turns that are kept while late stages may still write into them."""

_OF_THE_USER = ("voice_end", "turn_end", "transcript")
"""Marks of a record that no answer makes."""


@dataclass(slots=True)
class StationContext:
    """The part of a session that its stations use.

    ``spawn`` runs a coroutine in the session's task group; it must handle its own errors.
    ``language`` (BCP 47) is what the assistant speaks when it speaks for itself. ``encoders`` are
    the threads in which replies are encoded; None: in the event loop's own. ``session_tools`` runs
    tools for the session's agent, where there is a runtime. ``partial``,
    ``early``: the latest partial result of the recogniser, and what it made of all before a pause,
    which the turn detector reads although it stands before the recogniser. ``words_due``: the
    latter is on its way. ``hears_freely``: whether the recogniser hears more than its commands.
    ``surely_over``: whether a voice now is over a reply, and of a device that cancels its echo.
    ``phrases``: what the user may say besides commands for tools: the device's own exit phrases.
    """

    session_id: str
    device_id: str
    history: History
    tools: ToolSet
    counters: Counters
    spawn: Callable[[Coroutine[Any, Any, None]], None]
    language: str = ""
    phrases: tuple[str, ...] = ()
    encoders: Executor | None = None
    timelines: dict[int, TurnTimeline] = field(default_factory=dict)
    session_tools: SessionTools | None = None
    partial: PartialTranscript | None = None
    early: EarlyTranscript | None = None
    words_due: bool = False
    hears_freely: bool = False
    surely_over: Callable[[], bool] = bool
    voice_latency: VoiceLatency = field(default_factory=VoiceLatency)

    def timeline(self, turn_id: int) -> TurnTimeline:
        """Return the record of a turn, made at its first use."""
        return self.timelines.setdefault(turn_id, TurnTimeline(turn_id))

    def renew_timeline(self, turn_id: int) -> None:
        """Begin the record of a turn again that is answered anew; the one so far is of the answer
        that was given up, and keeps all that is in it."""
        before = self.timeline(turn_id)
        again = self.timelines[turn_id] = TurnTimeline(turn_id)
        again.sound_ms = before.sound_ms
        again.marks = {name: before.marks[name] for name in _OF_THE_USER if name in before.marks}

    def end_timeline(self, turn_id: int, timeline: TurnTimeline | None = None) -> None:
        """Forget the record of a turn that is over, and the oldest of too many.

        ``timeline``: only if this is the record, and none that was begun again.
        """
        if timeline is None or self.timelines.get(turn_id) is timeline:
            self.timelines.pop(turn_id, None)
        while len(self.timelines) > MAX_TIMELINES:
            del self.timelines[next(iter(self.timelines))]

    async def tools_ready(self, turn_id: int) -> None:
        """Wait for the first tool list of a device that has just connected.

        For a limited time after the end of the user's turn; without a list on its way, not at all.
        """
        if not self.tools.device.pending:
            return
        timeline = self.timelines.get(turn_id)
        ended = timeline.marks.get("turn_end") if timeline is not None else None
        self.counters.add("turn.waited_for_tools")
        if not await self.tools.device.settled(since=now() if ended is None else ended):
            self.counters.add("turn.without_device_tools")


Emit = Callable[[Sequence[Chunk]], Awaitable[None]]
"""Hands chunks that were made between two ``feed`` calls to the stations behind."""


class Station(ABC):
    """One step of the way from microphone to loudspeaker."""

    name: ClassVar[str]
    context: StationContext
    emit: Emit

    def bind(self, context: StationContext, emit: Emit) -> None:
        """Attach the session. Called once, before the first chunk."""
        self.context = context
        self.emit = emit

    async def close(self) -> None:  # noqa: B027 - most stations hold nothing
        """Give everything back; the session ends. Idempotent."""


class ListeningStation(Station):
    """A station of the half that always listens. Never sleeps: time comes in from outside."""

    @abstractmethod
    async def feed(self, chunk: Chunk, now: float) -> Sequence[Chunk]:
        """Take a chunk and return what follows from it, in order, passing on what it leaves."""

    @property
    def deadline(self) -> float | None:
        """When :meth:`expire` has to be called if nothing is fed before; None for never."""
        return None

    async def expire(self, now: float) -> Sequence[Chunk]:
        """Return what follows from ``deadline`` having passed."""
        return ()


class ReplyStation(Station):
    """A station of the half that replies."""

    answers_ahead: ClassVar[bool] = False
    """Whether nothing but the stream comes of its work before the ``commitment`` of a turn is
    given, so that answers may be made while the user may still go on."""

    @abstractmethod
    def run(self, upstream: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
        """Return the stream that this station makes of ``upstream``; closing it stops the work."""

"""Typed events of sessions, and the bus that carries them.

Logs, metrics, the console, the benchmarks and the demo read these instead of looking into sessions.
Events carry the user's words: a subscriber that writes logs must leave them out.

Publishing is synchronous and never waits. Each subscriber has a bounded queue of its own; when it
is full the oldest event is dropped and counted, so that a slow or dead subscriber costs a device
nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from types import TracebackType

from vixio.core.device import Device
from vixio.core.metrics import TurnTimeline

DEFAULT_QUEUE = 1_000
"""Events that wait for a subscriber: about a hundred turns."""


@dataclass(frozen=True, slots=True)
class Event:
    """Base of all events. ``at``: the loop's clock, in seconds (:func:`vixio.core.clock.now`)."""

    device_id: str
    session_id: str
    at: float


@dataclass(frozen=True, slots=True)
class SessionOpened(Event):
    """A device has connected. ``device``: what it says of itself. ``awake``: whether that began a
    conversation; what is always connected begins idle (:class:`ConversationOpened`)."""

    device: Device | None = None
    awake: bool = True


@dataclass(frozen=True, slots=True)
class DeviceToolsListed(Event):
    """The device has listed its tools, at first or anew.

    ``names``: of those that the agent may use.
    """

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SessionClosed(Event):
    """The conversation ended. ``seconds``: how long it lasted; ``reason``: why it ended, in words
    for the log."""

    seconds: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ConversationOpened(Event):
    """A device that is always connected was spoken to, or roused. ``device``: as of its hello."""

    device: Device


@dataclass(frozen=True, slots=True)
class ConversationEnded(Event):
    """It is idle again, and stays connected."""


@dataclass(frozen=True, slots=True)
class StateChanged(Event):
    """The floor changed hands. Both are values of :class:`~vixio.core.turns.floor.State`."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class PartialTranscript(Event):
    """The words recognised so far in an utterance that goes on."""

    turn_id: int
    text: str


@dataclass(frozen=True, slots=True)
class FinalTranscript(Event):
    """What the recogniser heard. ``understood`` false: speech, but no words; ``text`` is empty.

    ``guess``: of words that it declined, what they may have been. Perhaps nobody said them.
    """

    turn_id: int
    text: str
    understood: bool
    guess: str = ""


@dataclass(frozen=True, slots=True)
class TurnStarted(Event):
    """A reply is being made: to ``text`` of the user, or unasked (``text`` empty)."""

    turn_id: int
    text: str


@dataclass(frozen=True, slots=True)
class TurnEnded(Event):
    """The turn is over, one way or another; ``timeline`` is its complete record."""

    turn_id: int
    timeline: TurnTimeline


@dataclass(frozen=True, slots=True)
class ToolStarted(Event):
    """The model called a tool. ``arguments``: the JSON text that it wrote."""

    turn_id: int
    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolEnded(Event):
    """A tool answered. ``output``: what the model reads; ``seconds``: the duration.

    ``error_type``: as in :class:`~vixio.core.chunk.ToolReturned`.
    """

    turn_id: int
    call_id: str
    name: str
    output: str
    success: bool
    seconds: float
    error_type: str = ""


@dataclass(frozen=True, slots=True)
class SpeechStarted(Event):
    """The assistant began to speak."""

    turn_id: int


@dataclass(frozen=True, slots=True)
class SpeechSentence(Event):
    """A sentence of the speech begins: the device was told to show it, and its audio follows.

    ``filler``: it only bridges a pause, and is no part of what :class:`SpeechPlayed` says.
    """

    turn_id: int
    text: str
    filler: bool = False


@dataclass(frozen=True, slots=True)
class SpeechPlayed(Event):
    """The speech was played to its end, or a typed conversation's answer is written. ``text``: all
    of it."""

    turn_id: int
    text: str


@dataclass(frozen=True, slots=True)
class SpeechInterrupted(Event):
    """The speech was cut. ``heard``: the text that was played, or in a typed conversation read;
    ``cause``: one word."""

    turn_id: int
    heard: str
    cause: str


@dataclass(frozen=True, slots=True)
class Failure(Event):
    """A turn could not be completed. ``stage``: a station's name or ``reply``.

    ``reason``: as in :class:`~vixio.core.errors.ProviderError`; ``detail``: one line for the log,
    without private content. ``partial``: the reply goes on without one of its sentences.
    """

    turn_id: int
    stage: str
    reason: str
    detail: str
    partial: bool = False


class Subscription:
    """The events since :meth:`EventBus.subscribe`, oldest first: an async iterator.

    Use as ``with bus.subscribe() as events: async for event in events``. One reader at a time.
    """

    def __init__(self, bus: EventBus, size: int) -> None:
        self.dropped = 0
        """Events that were lost because the queue was full."""
        self._bus = bus
        self._queue: deque[Event] = deque()
        self._size = size
        self._waiter: asyncio.Future[None] | None = None
        self._closed = False

    def __len__(self) -> int:
        return len(self._queue)

    def __enter__(self) -> Subscription:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        while not self._queue:
            if self._closed:
                raise StopAsyncIteration
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self._queue.popleft()

    def take(self) -> list[Event]:
        """Return what waits, oldest first, without a wait."""
        waiting = list(self._queue)
        self._queue.clear()
        return waiting

    def close(self) -> None:
        """End the iteration once the queue is empty. Idempotent."""
        self._closed = True
        self._bus.unsubscribe(self)
        self._wake()

    def put(self, event: Event) -> None:
        """Queue an event; for the bus."""
        if len(self._queue) >= self._size:
            self._queue.popleft()
            self.dropped += 1
        self._queue.append(event)
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


Sink = Callable[[Event], None]
"""Counts or logs an event. Must return at once and not raise."""


class EventBus:
    """Carries the events of all sessions of a process to its subscribers."""

    def __init__(self) -> None:
        self._subscriptions: tuple[Subscription, ...] = ()
        self._sinks: tuple[Sink, ...] = ()

    def attach(self, sink: Sink) -> None:
        """Call ``sink`` with each event, at once: for counters and logs, which must miss none."""
        self._sinks = (*self._sinks, sink)

    def subscribe(self, size: int = DEFAULT_QUEUE) -> Subscription:
        """Return a new subscription whose queue holds ``size`` events.

        Raises ValueError for a ``size`` below 1.
        """
        if size < 1:
            raise ValueError(f"a subscription holds at least 1 event, not {size}")
        subscription = Subscription(self, size)
        self._subscriptions = (*self._subscriptions, subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Send nothing more to ``subscription``; see :meth:`Subscription.close`."""
        self._subscriptions = tuple(
            each for each in self._subscriptions if each is not subscription
        )

    def publish(self, event: Event) -> None:
        """Queue ``event`` for every subscriber. Never waits."""
        for sink in self._sinks:
            sink(event)
        for subscription in self._subscriptions:
            subscription.put(event)

    def close(self) -> None:
        """End all subscriptions."""
        for subscription in self._subscriptions:
            subscription.close()

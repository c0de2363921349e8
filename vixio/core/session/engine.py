"""The interface between a session and what listens and answers for it.

:class:`~vixio.core.pipeline.Pipeline`, the cascade of stations, is one implementation; a
speech-to-speech model can be another. An engine turns chunks of the device into turns of the user
(:class:`~vixio.core.chunk.UserTurn`), and a turn into the stream of its reply. The session decides
when a reply is made, played and cut.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol

from vixio.core.chunk import Chunk, UserTurn
from vixio.core.device import Device, DeviceProfile
from vixio.core.station import StationContext
from vixio.core.tools.toolset import ToolSet

Output = Callable[[Chunk], Awaitable[None]]
"""Receives what an engine hears: TurnStarted, PartialTranscript, Transcript, UserTurn, TurnDropped,
TurnFailed."""


class Engine(Protocol):
    """Listens and answers for one session. Used by one event loop.

    If its attribute ``answers_ahead`` is true, :meth:`reply` is also given turns that may not take
    place: nothing but its own work may come of one before its ``commitment`` is given.
    """

    def bind(self, context: StationContext, output: Output) -> None:
        """Attach the session, once, before anything else. ``output`` receives what is heard."""
        ...

    @property
    def deadline(self) -> float | None:
        """When :meth:`expire` is to be called if nothing is fed before; None: never."""
        ...

    async def feed(self, chunk: Chunk, now: float) -> None:
        """Take microphone audio, a control or typed text. Must be quick: it delays the reader."""
        ...

    async def expire(self, now: float) -> None:
        """Act on a deadline that has passed."""
        ...

    def reply(self, turn: UserTurn) -> AsyncIterator[Chunk]:
        """Return the reply: TextDelta, ToolCalled, ToolReturned, Notice, Farewell, Emotion,
        SpeechAhead, Sentence, AudioOut, SentenceFailed. Closing the stream stops all work on it.

        The engine writes the turn into the history: ``begin`` with the user's words, ``append``,
        and ``said`` where the words are known only later. The session closes or cuts the turn. When
        it closes the stream early, ``heard_ms`` of the turn's timeline says how much was played.
        """
        ...

    def speak(self, turn_id: int, text: str, *, recurring: bool = False) -> AsyncIterator[Chunk]:
        """Return the stream that says ``text`` as it is, without asking a model.

        ``recurring``: it will be said again, as a greeting, so its audio may be kept.

        The session writes it into the history. With ``SessionSettings.filler_after`` it is called
        while a reply is being made too.
        """
        ...

    async def close(self) -> None:
        """Give everything back. Idempotent."""
        ...


EngineFactory = Callable[[Device, DeviceProfile, ToolSet], Awaitable[Engine]]
"""Makes the engine of a session, and another one when its profile changes. Must be quick: a model
that has to be loaded is loaded behind it."""

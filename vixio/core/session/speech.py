"""Handles of what the assistant says on command.

:meth:`~vixio.core.session.session.Session.say` and ``ask`` return them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Protocol, Self

from vixio.core.chunk import Chunk
from vixio.core.errors import VixioError
from vixio.core.history import AssistantMessage, History, HistoryItem
from vixio.core.session.engine import Engine
from vixio.core.streams import closing


class Priority(IntEnum):
    """When a speech is played. All of them wait for a user who is speaking."""

    LOW = 0
    """In a pause: no reply, and for some seconds no voice."""
    NORMAL = 1
    """Behind the reply that is being made or played."""
    HIGH = 2
    """At once; the running reply is cut."""


class Farewell(StrEnum):
    """Why a session ends with a goodbye."""

    USER = "user"
    """The user has ended the conversation."""
    IDLE = "idle"
    """Nobody has spoken for long."""


class SpeechStatus(StrEnum):
    """What became of a speech."""

    PLAYED = "played"
    """It was heard to its end."""
    INTERRUPTED = "interrupted"
    """It was cut; ``heard`` says where."""
    FAILED = "failed"
    """It, or the rest of it, could not be made."""
    SHOWN = "shown"
    """The device is idle and cannot be made to speak: it has shown the words, with its own
    sound."""
    QUIET = "quiet"
    """The device is idle in its quiet hours, which last until ``until``: nothing was said."""
    DROPPED = "dropped"
    """It was cancelled or refused, or the session ended, before anything was heard."""


@dataclass(frozen=True, slots=True)
class SpeechOutcome:
    """The end of a speech. ``heard``: the text that was played, cut by the share of its audio.
    ``until``: of QUIET, a local time such as 07:00."""

    status: SpeechStatus
    heard: str = ""
    until: str = ""


class SpeechWithdrawn(VixioError):
    """There is nothing to say after all."""


class Script(Protocol):
    """Words that are written when their turn has come, and recorded before they are heard.

    Both are awaited by the reply's task. A speech that gave way to the user is composed again.
    """

    async def compose(self) -> str:
        """Return the words. Raises SpeechWithdrawn: nothing is said then."""
        ...

    async def begin(self) -> None:
        """The words are about to be heard. Raises SpeechWithdrawn: they are not, then."""
        ...


class Sound(Protocol):
    """Sound instead of words: music, a story, a station.

    Cut by the user or by another speech, it waits and is played on; what ends it are ``abort``, a
    cancelled handle and the end of the conversation.
    """

    title: str

    def chunks(self, turn_id: int) -> AsyncIterator[Chunk]:
        """Yield its audio from where it was left, and titles as notices. It bounds each wait."""
        ...

    def left(self, ms: int) -> None:
        """It was cut when ``ms`` of what :meth:`chunks` gave were heard."""
        ...


class SpeechHandle:
    """A speech on its way: waits for its turn, is played, is over.

    ``text``: the words to say; for an ``ask`` the user's words. ``question`` true: the agent
    answers, and what is heard is the answer. ``interruptible`` false: the user's voice does not
    cut it, what the user says meanwhile is answered afterwards.
    """

    def __init__(
        self,
        text: str,
        priority: Priority = Priority.NORMAL,
        *,
        interruptible: bool = True,
        question: bool = False,
        remembered: bool = True,
        items: Sequence[HistoryItem] = (),
        recurring: bool = False,
        farewell: Farewell | None = None,
        script: Script | None = None,
        patient: bool = False,
    ) -> None:
        self.text = text
        self.priority = priority
        self.interruptible = interruptible
        self.question = question
        self.remembered = remembered
        """Whether it stands in the history."""
        self.items = tuple(items)
        """What stands before it in the history, such as the tool result that it reports."""
        self.recurring = recurring
        """Whether the same words will be said again: their audio may be kept."""
        self.farewell = farewell
        """Set for a goodbye: the session ends behind it."""
        self.script = script
        """What writes ``text`` when its turn has come; None: it is there."""
        self.sound: Sound | None = None
        """What is played; ``text`` is its title then, and not spoken."""
        self.patient = patient
        """Whether it waits for the end of quiet hours, or for the user, rather than be refused."""
        self._outcome: asyncio.Future[SpeechOutcome] | None = None
        self._result: SpeechOutcome | None = None
        self._heard: Callable[[], str] | None = None
        self._on_cancel: Callable[[SpeechHandle], None] | None = None

    @classmethod
    def of_sound(cls, sound: Sound) -> Self:
        """Return the handle of a sound, which the history does not keep."""
        handle = cls(sound.title, remembered=False)
        handle.sound = sound
        return handle

    @property
    def done(self) -> bool:
        """Whether it is over."""
        return self._result is not None

    @property
    def outcome(self) -> SpeechOutcome | None:
        """How it ended; None while it has not."""
        return self._result

    @property
    def heard(self) -> str:
        """The text that was heard so far."""
        if self._result is not None:
            return self._result.heard
        return self._heard() if self._heard is not None else ""

    async def played(self) -> SpeechOutcome:
        """Wait for the end, of whatever kind."""
        if self._result is not None:
            return self._result
        if self._outcome is None:
            self._outcome = asyncio.get_running_loop().create_future()
        return await asyncio.shield(self._outcome)

    def cancel(self) -> None:
        """Take it back: dropped if it waits, cut if it plays. Idempotent."""
        cancel, self._on_cancel = self._on_cancel, None
        if self._result is None and cancel is not None:
            cancel(self)

    # ── the session's side ───────────────────────────────────────────────────────────────────

    def attach(self, cancel: Callable[[SpeechHandle], None]) -> None:
        """Set the function that cancels it."""
        self._on_cancel = cancel

    def follow(self, heard: Callable[[], str] | None) -> None:
        """Set the source of the heard text while it plays; None: it is not playing."""
        self._heard = heard

    def end(self, status: SpeechStatus, heard: str = "", until: str = "") -> None:
        """Settle it. Idempotent: the first end holds."""
        if self._result is not None:
            return
        self._result = SpeechOutcome(status, heard, until)
        self._heard = None
        if self._outcome is not None and not self._outcome.done():
            self._outcome.set_result(self._result)


async def spoken(
    speech: SpeechHandle, turn_id: int, engine: Engine, history: History
) -> AsyncIterator[Chunk]:
    """Yield what the engine makes of the words. Raises SpeechWithdrawn of a script."""
    if speech.sound is not None:
        async with closing(speech.sound.chunks(turn_id)) as chunks:
            async for chunk in chunks:
                yield chunk
        return
    if speech.script is not None:
        speech.text = await speech.script.compose()
    if speech.remembered:
        history.begin(turn_id)
        for item in (*speech.items, AssistantMessage(speech.text)):
            history.append(turn_id, item)
    async with closing(engine.speak(turn_id, speech.text, recurring=speech.recurring)) as chunks:
        async for chunk in chunks:
            yield chunk

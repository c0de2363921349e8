"""The one reply that is made or played: how it starts, takes the floor, ends and is cut."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from vixio.core.chunk import Abort, ListenMode, UserTurn
from vixio.core.clock import now
from vixio.core.errors import ConnectionClosed
from vixio.core.messages import message
from vixio.core.messages.fault import Fault
from vixio.core.pacer import DROPS_MS, Pacer
from vixio.core.session import events
from vixio.core.session.ahead import AnswerAhead
from vixio.core.session.emitter import Emitter
from vixio.core.session.endings import CROSSING_S, Alert, Endings
from vixio.core.session.engine import Engine
from vixio.core.session.reply import Reply
from vixio.core.session.session_floor import SessionFloor
from vixio.core.session.settings import SessionSettings
from vixio.core.session.speech import Priority, SpeechHandle, SpeechStatus, SpeechWithdrawn
from vixio.core.session.speech_queue import SpeechQueue
from vixio.core.session.utterances import Utterances
from vixio.core.station import StationContext
from vixio.core.transport import DeviceConnection
from vixio.core.turns.floor import STOP_WINDOW_S, Action, Input

GIVES_WAY = frozenset({"superseded", "continued", "listen", "failed"})
"""Causes for which a speech that was not heard yet is said later: the user speaks."""

GOES_ON = GIVES_WAY | {"replaced", "text", "voice", "wake_word_detected"}
"""Causes behind which a sound goes on: others than the button and the end of the conversation."""

LISTENS_NEXT = frozenset({Input.ABORT, Input.BUTTON_DOWN})
"""What a device sends that listens then, or may. Not a start of another mode alone: a device may
repeat it while it speaks."""

Post = Callable[[Callable[[], Awaitable[None]]], None]
"""Queues a command for the listening task."""


@dataclass(frozen=True, slots=True)
class ReplyParts:
    """What the replies of one session are made of and played on."""

    connection: DeviceConnection
    context: StationContext
    settings: SessionSettings
    emit: Emitter
    endings: Endings
    floor: SessionFloor
    utterances: Utterances
    speeches: SpeechQueue
    engine: Callable[[], Engine]
    """Returns the engine in use."""
    post: Post
    on_over: Callable[[], None]
    """Called behind each reply."""
    may_close: Callable[[], bool]
    """Whether the connection may be closed: nobody speaks and nothing waits to be said."""


class ReplySlot:
    """Holds a reply from its start to its end."""

    def __init__(self, parts: ReplyParts) -> None:
        self.reply: Reply | None = None
        self.last_cut: Pacer | None = None
        """Of the reply that was cut last while the device played it."""
        self._begun = 0
        """Replies so far."""
        self._parts = parts
        self._floor = parts.floor

    @property
    def uninterruptible(self) -> bool:
        """Whether a speech goes on that the user's voice may not cut."""
        return self.reply is not None and self.reply.active and not self.reply.interruptible

    @property
    def sounds(self) -> bool:
        """Whether a sound is played or held, which gives way to words."""
        return self.reply is not None and self.reply.sounds

    def start(
        self,
        turn: UserTurn,
        *,
        failed: Fault | None = None,
        speech: SpeechHandle | None = None,
        ahead: AnswerAhead | None = None,
    ) -> None:
        """Begin to answer ``turn``: by an apology if it ``failed``, by a ``speech`` or a model.

        ``ahead``: the model's answer, which is under way.
        """
        parts = self._parts
        self._floor.hears_itself = parts.connection.hears_itself
        reply = Reply(
            turn,
            parts.engine(),
            parts.connection,
            parts.context,
            parts.settings,
            parts.emit,
            parts.endings,
            before=self.last_cut,
            speech=speech,
            ahead=ahead,
        )
        # In full duplex the user is heard until there is something to hear.
        early = not self._floor.full_duplex
        speaks = parts.utterances.__bool__
        reply.start.follow(lambda: self._take_floor(reply), speaks, early=early)
        self.reply = reply
        self._begun += 1
        parts.emit(events.TurnStarted, turn.turn_id, turn.text)
        parts.context.spawn(self._run(reply, failed, self._begun))

    async def cut(self, cause: str, by: Input | None = None) -> bool:
        """End the reply; return whether it was being spoken.

        ``by``: what the device sent, if that is why. ``tts stop`` follows, but not to a device that
        has begun to listen: it has left Speaking by itself.
        """
        reply, self.reply = self.reply, None
        if reply is None or not reply.active:
            return False
        speaking = reply.speaking
        reply.interrupt(cause)
        self._floor.sounds_until(reply.pacer.plays_until)
        try:
            await reply.pacer.stopped()
        finally:
            # Also if the wait is cancelled, with the recogniser's task of words that became void.
            if speaking:
                self.last_cut = reply.pacer
                await self._stop(reply, by)
            self._settle(reply, "hung up" if by is Input.HUNG_UP else cause)
        return speaking

    async def _stop(self, reply: Reply, by: Input | None) -> None:
        endings, started_at = self._parts.endings, reply.pacer.started_at
        if by is Input.BARGE_IN and reply.pacer.plays_until > now() + DROPS_MS / 1000:
            self._floor.expect_start(now() + STOP_WINDOW_S)
            await endings.silence()
        elif started_at is None or now() < started_at + CROSSING_S or by not in LISTENS_NEXT:
            await endings.stop_speech()
        elif by is Input.ABORT:
            endings.hold_stop()

    def cut_for_more(self, reply: Reply) -> None:
        """End a reply that was not heard: the user goes on with what they were saying."""
        reply.interrupt("continued")
        self._settle(reply, "continued")

    def hang_up(self) -> None:
        """The connection is gone: what was heard stays in the history."""
        if self.reply is not None and self.reply.active:
            self.reply.interrupt("disconnected")
            self._settle(self.reply, "disconnected")

    def hold(self, *actions: Action) -> None:
        """Pause the reply or play on, as ``actions`` say; others do nothing here."""
        if self.reply is None:
            return
        if Action.PAUSE in actions:
            self.reply.pacer.pause()
            # Clients answer the "tts stop" of it.
            self._floor.expect_start(now() + STOP_WINDOW_S)
            self._parts.context.spawn(self.reply.pacer.silence())
        elif Action.RESUME in actions:
            self.reply.pacer.resume()

    def _settle(self, reply: Reply, cause: str) -> None:
        """A speech that gave way to the user before it was heard waits for its turn again."""
        handle = reply.speech
        if handle is None or handle.done:
            return
        if handle.sound is not None and cause in GOES_ON:
            handle.priority = Priority.LOW
            self._parts.speeches.add(handle)
            self._parts.speeches.disturbed(now())  # the user may want to say something
        elif reply.heard or handle.question or cause not in GIVES_WAY:
            heard = reply.pacer.heard_text() if reply.heard else ""
            ended = SpeechStatus.DROPPED if cause == "disconnected" else SpeechStatus.INTERRUPTED
            handle.end(SpeechStatus.INTERRUPTED if reply.heard else ended, heard)
        elif handle.remembered:
            self._parts.context.history.forget(reply.turn.turn_id)
            self._parts.speeches.add(handle, first=True)
        else:
            handle.end(SpeechStatus.DROPPED)

    # ── its task ─────────────────────────────────────────────────────────────────────────────

    async def _run(self, reply: Reply, failed: Fault | None, number: int) -> None:
        parts = self._parts
        try:
            await reply.run(failed)
        except Exception:
            await self._break_off(reply)
            raise
        finally:
            self._finish(reply)
        if reply.ends_conversation:
            parts.speeches.end_sounds()
        if reply.ends_conversation and parts.may_close():
            await parts.endings.settled()
            if self._begun != number:
                return  # the user went on; a voice alone may be noise
            farewell = reply.speech.farewell if reply.speech is not None else None
            by = farewell or "assistant"
            parts.context.counters.add(f"session.ended_by_{by}")
            await parts.connection.hang_up("the conversation is over")

    async def _break_off(self, reply: Reply) -> None:
        """End a reply that a defect ended: without ``tts stop`` the device would speak on."""
        speaking = reply.speaking
        if reply.active:
            reply.interrupt("defect")
            reply.timeline.outcome = "failed:defect"
            self._settle(reply, "defect")
        if speaking:
            with suppress(ConnectionClosed):  # the defect is what is reported
                await self._parts.endings.stop_speech()

    async def _take_floor(self, reply: Reply) -> None:
        """Wait for a user who is still speaking: further words may change the answer.

        A speech on command waits for as long as that takes, the answer to a turn only for a while.
        """
        parts = self._parts
        await parts.utterances.over(parts.settings.hold if reply.speech is None else None)
        if not await parts.connection.rouse(reply.words):
            await self._show_instead(reply)
        if reply.speech is not None and reply.speech.script is not None:
            await reply.speech.script.begin()
        await parts.endings.release_stop()
        self.hold(*self._floor.step(Input.SPEAKS))
        if not self._floor.full_duplex:
            # What the engine was hearing is void. It is fed by the listening task alone.
            parts.post(self._forget_heard)

    async def _show_instead(self, reply: Reply) -> NoReturn:
        """The device cannot be made to speak: show the words, which it does with a sound."""
        parts = self._parts
        if reply.speech is not None:
            reply.speech.end(SpeechStatus.SHOWN)
        parts.context.counters.add("session.shown_instead")
        status = message("message_status", parts.context.language)
        notice: Alert = (status, reply.words, "neutral")
        if parts.connection.roused:  # it is ready to speak, and audio does not get through
            await parts.endings.hang_up("no audio")
        parts.endings.show_later(notice)
        raise SpeechWithdrawn("the device cannot be made to speak")

    async def _forget_heard(self) -> None:
        self._parts.utterances.clear()
        await self._parts.engine().feed(Abort("speaking"), now())

    def _finish(self, reply: Reply) -> None:
        parts, floor = self._parts, self._floor
        outcome = reply.speech.outcome if reply.speech is not None else None
        if outcome is not None and outcome.status is SpeechStatus.SHOWN:
            reply.timeline.outcome = "interrupted:shown"
        floor.sounds_until(reply.pacer.plays_until)
        if reply.heard and floor.mode is not ListenMode.MANUAL:
            floor.expect_start(now() + STOP_WINDOW_S)
        if self.reply is reply:
            self.reply = None
            floor.step(Input.DONE)
        if parts.connection.roused and not reply.heard:
            # It was told to speak, and there is nothing to say.
            parts.context.spawn(parts.connection.hang_up("nothing to say"))
        parts.speeches.disturbed(now())
        parts.emit(events.TurnEnded, reply.turn.turn_id, reply.timeline)
        parts.context.end_timeline(reply.turn.turn_id, reply.timeline)
        parts.on_over()

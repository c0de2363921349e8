"""One reply: the stream that an engine makes, paced to the device, stoppable at once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress

from vixio.core.chunk import (
    AudioOut,
    Chunk,
    Emotion,
    Farewell,
    Notice,
    Sentence,
    SentenceFailed,
    SpeechAhead,
    ToolCalled,
    ToolReturned,
    UserTurn,
)
from vixio.core.clock import now
from vixio.core.errors import ConnectionClosed, VixioError, describe
from vixio.core.log_fields import logged_as
from vixio.core.messages import message
from vixio.core.messages.fault import Fault
from vixio.core.metrics import TurnTimeline
from vixio.core.pacer import DROPS_MS, Pacer
from vixio.core.session.ahead import AnswerAhead
from vixio.core.session.emitter import Emitter
from vixio.core.session.endings import Alert, Endings, apology, explanation
from vixio.core.session.engine import Engine
from vixio.core.session.filler import Filler
from vixio.core.session.reply_audio import ReplyAudio, ReplyLength
from vixio.core.session.reply_record import ReplyRecord, ToolRecord
from vixio.core.session.settings import SessionSettings
from vixio.core.session.speech import SpeechHandle, SpeechStatus, SpeechWithdrawn, spoken
from vixio.core.session.speech_start import SpeechStart
from vixio.core.station import StationContext
from vixio.core.streams import closing, within
from vixio.core.transport import DeviceConnection
from vixio.core.voice_latency import VoiceLatency

_log = logging.getLogger(__name__)

SOUND_S = 366 * 86_400.0
"""Seconds for which a sound may be waited for: it bounds each wait by itself."""


class Reply:
    """The answer to one turn. ``run`` is its task; :meth:`interrupt` ends it from outside.

    ``before``: the pacer of the reply that was interrupted last while it was spoken. ``speech``:
    the command that the reply carries out; None: the user's turn is answered.
    """

    def __init__(
        self,
        turn: UserTurn,
        engine: Engine,
        connection: DeviceConnection,
        context: StationContext,
        settings: SessionSettings,
        emit: Emitter,
        endings: Endings,
        *,
        before: Pacer | None = None,
        speech: SpeechHandle | None = None,
        ahead: AnswerAhead | None = None,
    ) -> None:
        self.turn = turn
        self._ahead = ahead
        self.speech = speech
        self.timeline: TurnTimeline = context.timeline(turn.turn_id)
        self._farewell = speech is not None and speech.farewell is not None
        self._engine = engine
        self._connection = connection
        self._context = context
        self._settings = settings
        self._endings = endings
        self._pacer = Pacer(
            connection,
            context.counters,
            connection.output.frame_ms,
            settings.pacer,
            before,
        )
        self._record = ReplyRecord(self.timeline, emit, self._pacer)
        self._audio = ReplyAudio(connection, self._pacer, context.encoders)
        lead = settings.pacer.start_lead_ms / 1000
        # Audio that is kept says nothing of how long the voice takes.
        latency = VoiceLatency() if self.recurring else context.voice_latency
        self.start = SpeechStart(self._pacer, latency, lead)
        """Takes the floor when there is, or will soon be, something to hear."""
        self.start.on_taken = self._floor_taken
        self._filler = Filler(
            self.timeline, self.start, self._pacer, self._audio, settings.timeouts.tts
        )
        self._tools = ToolRecord(self.timeline, emit)
        self._sentences: int | None = None
        """Of a reply that failed: how many belong to the answer; those behind them apologise."""
        self._misses_words = False
        """Whether a sentence was not spoken that the history could not take back."""
        self._made_something = False
        self._over = False
        self._group: asyncio.TaskGroup | None = None
        self._subtitle: str | None = None
        self._face: tuple[str, str] | None = None
        self._notice: Alert | None = None
        """Why there is no answer, to be shown at the end."""
        self._task: asyncio.Task[None] | None = None

    @property
    def pacer(self) -> Pacer:
        """Plays it, and knows what was heard."""
        return self._pacer

    @property
    def active(self) -> bool:
        """Whether it is still made or played."""
        return not self._over

    @property
    def speaking(self) -> bool:
        """Whether ``tts start`` was sent, and ``tts stop`` is due."""
        return self._pacer.started and not self._over

    @property
    def heard(self) -> bool:
        """Whether the device was asked to play it."""
        return self.start.taken

    @property
    def words(self) -> str:
        """The first of what it says, as far as it is known."""
        told = self.speech is not None and not self.speech.question
        return (self.speech.text if told and self.speech else self._subtitle) or ""

    @property
    def recurring(self) -> bool:
        """Whether its words are those of a speech that will be said again."""
        return self.speech is not None and self.speech.recurring

    @property
    def sounds(self) -> bool:
        """Whether a sound is played, and no words."""
        return self.speech is not None and self.speech.sound is not None

    @property
    def interruptible(self) -> bool:
        """Whether the user's voice may cut it."""
        return self.speech is None or self.speech.interruptible

    @property
    def ends_conversation(self) -> bool:
        """Whether the session closes, now that it is over: a farewell was said, or could not be.

        An answer with a farewell that failed does not: an apology took its place.
        """
        timeline = self.timeline
        failed = self.speech is not None and timeline.outcome.startswith("failed:")
        return self._farewell and (timeline.was_answered or failed)

    async def run(self, failed: Fault | None = None) -> None:
        """Make and play the reply, to its ``tts stop``.

        ``failed``: what to say and show instead, when the turn failed before it got here.
        """
        if not self.active:
            return  # cut before its task's first step
        self._task = asyncio.current_task()
        with logged_as(turn=self.turn.turn_id):
            await self._run(failed)

    async def _run(self, failed: Fault | None) -> None:
        if self.speech is not None:
            self.speech.follow(self._heard_text)
        try:
            async with asyncio.TaskGroup() as self._group:
                pacing = self._group.create_task(self._pacer.run())
                if failed is None:
                    self._fill(self._group)
                try:
                    await self._make(failed)
                finally:
                    self.start.cancel()
                    self._filler.cancel()
                    self._pacer.finish()
                await pacing
        except* (ConnectionClosed, SpeechWithdrawn) as ended:
            self._drop("withdrawn" if ended.subgroup(SpeechWithdrawn) else "disconnected")
        finally:
            self._audio.release()
            self._group = None
        if self._over:
            return
        self.timeline.mark("playout_end", now())
        if self._failed or self._misses_words:
            self._context.history.cut(self.turn.turn_id, self._heard_text())
        else:
            self._context.history.close(self.turn.turn_id)
        self._end(self.timeline.outcome or self.timeline.answer)
        if self.start.taken:
            self._record.played()
        if self.speech is not None:
            status = SpeechStatus.FAILED if self._failed else SpeechStatus.PLAYED
            self.speech.end(status, self._heard_text())
        with suppress(ConnectionClosed):
            await self._endings.stop_speech_with(self._notice)

    def _drop(self, cause: str) -> None:
        """There is nobody to hear it, or nothing to say."""
        self.interrupt(cause)
        if cause == "withdrawn":
            self._context.history.forget(self.turn.turn_id)
        if self.speech is not None:
            self.speech.end(SpeechStatus.DROPPED)

    def interrupt(self, cause: str) -> None:
        """Stop now. The caller waits for ``pacer.stopped()`` before it sends ``tts stop``."""
        if self._over:
            return
        played, heard = self._pacer.heard_text(), self._heard_text()
        self._context.history.cut(self.turn.turn_id, heard)
        self._pacer.stop()
        self.start.cancel()
        self._filler.cancel()  # not with the task: an agent may hold that up
        self._end(f"interrupted:{cause}")
        if self.start.taken:
            self._record.interrupted(played, cause)
        if self.speech is not None:
            self.speech.follow(None)
            if self.speech.sound is not None:
                self.speech.sound.left(self._pacer.sounded_ms(DROPS_MS))
            elif self.start.taken or self.speech.question:
                status = SpeechStatus.FAILED if self._failed else SpeechStatus.INTERRUPTED
                self.speech.end(status, heard)
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()

    def _fill(self, group: asyncio.TaskGroup) -> None:
        """Say a few words if the answer takes long: on command, only once it has begun."""
        after = self._settings.filler_after
        if not (after and self.turn.understood):
            return
        if self.speech is None:
            self._filler.start(group, after, self._engine, self._context)
        elif self.speech.question:
            self._filler.start(group, None, self._engine, self._context)

    def _floor_taken(self) -> None:
        self._record.started()
        tools = self._context.session_tools
        if tools is not None and self.speech is not None and not self.speech.question:
            tools.withdraw()

    @property
    def _failed(self) -> bool:
        return self._sentences is not None

    def _heard_text(self) -> str:
        return self._pacer.heard_text(self._sentences)

    def _end(self, outcome: str) -> None:
        self._over = True
        self._record.ended(outcome)

    async def _make(self, failed: Fault | None) -> None:
        if failed is None:
            failed = await self._answer(self._stream())
        if failed is not None:
            self._sentences = self._pacer.put_sentences
            self.timeline.outcome = f"failed:{failed.key}"
            # Nobody has asked for the words of a script: they are said later, or never.
            if self.speech is None or self.speech.script is None:
                await self._apologise(failed)

    def _stream(self) -> AsyncIterator[Chunk]:
        if self._ahead is not None:
            return self._ahead.chunks()
        if self.speech is None or self.speech.question:
            return self._engine.reply(self.turn)
        return spoken(self.speech, self.turn.turn_id, self._engine, self._context.history)

    async def _answer(self, stream: AsyncIterator[Chunk]) -> Fault | None:
        """Play the reply; return why it could not be made."""
        timeouts = self._settings.timeouts
        answers = self.speech is None or self.speech.question
        length = ReplyLength(self._settings.max_reply) if answers else None
        try:
            patience = SOUND_S if self.sounds else timeouts.turn
            if not await self._play(stream, patience, length):
                self._context.counters.add("turn.too_long")
                self._misses_words = True
                words = message("too_long", self._context.language)
                closing_words = self._engine.speak(self.turn.turn_id, words, recurring=True)
                await self._play(closing_words, timeouts.apology)
        except (ConnectionClosed, SpeechWithdrawn):
            raise
        except Exception as error:  # noqa: BLE001 - a defect must cost one turn, not the session
            if self._over:
                return None  # a voice that ignored its cancellation
            if not isinstance(error, VixioError | TimeoutError):
                self._context.counters.add("turn.defect")
            return self._failure(Fault.of(error), describe(error))
        if not (self._made_something or self._over):
            return self._failure(Fault("no_answer"), "no_answer")
        return None

    def _failure(self, fault: Fault, detail: str) -> Fault:
        self._context.counters.add(f"turn.{fault.key}")
        self._record.failed("reply", fault.reason or fault.key, detail)
        return fault

    async def _apologise(self, fault: Fault) -> None:
        """Say what happened; if that fails too, it is shown."""
        self._filler.over = True
        # Not that of the turn: a recogniser may name one that the voice does not speak.
        language = self._context.language
        words = fault.words(language)
        spoken_before = self._made_something
        self._made_something = False
        try:
            stream = self._engine.speak(self.turn.turn_id, words)
            await self._play(stream, self._settings.timeouts.apology)
        except ConnectionClosed:
            raise
        except Exception as error:  # noqa: BLE001 - the voice itself fails: show it instead
            _log.warning("apology not spoken", extra={"error": type(error).__name__})
        shown = explanation if self._made_something else apology
        self._notice = shown(fault, language)
        self._made_something = self._made_something or spoken_before

    async def _play(
        self, stream: AsyncIterator[Chunk], timeout: float, length: ReplyLength | None = None
    ) -> bool:
        """Send what ``stream`` gives; ``timeout`` seconds of waiting for it in silence, in all.

        Returns whether that was all of it: at the limit of ``length`` it is closed.
        """
        whole = True
        async with closing(within(stream, timeout, self._pacer.busy_until)) as chunks:
            async for chunk in chunks:
                if length is not None and length.reached_before(chunk):
                    whole = False
                    break
                async with self._filler.playing:
                    await self._take(chunk)
        async with self._filler.playing:
            await self._audio.flush()
            await self._show_face()
        return whole

    async def _take(self, chunk: Chunk) -> None:
        if self._over:
            return
        self._filler.note(chunk)
        match chunk:
            case AudioOut(pcm=pcm, sample_rate=rate):
                self._made_something = True
                if "first_audio" not in self.timeline.marks:
                    self.timeline.mark("first_audio", now())
                    self.start.audio_came()
                await self._before_audio()
                await self._audio.put(pcm, rate)
            case Sentence(text=text):
                # The tail of the sentence before belongs in front of this one's subtitle.
                await self._audio.flush()
                self._subtitle = text
                self._expect_audio()
            case SentenceFailed():
                self._miss(chunk)
            case Emotion(name=name, emoji=emoji):
                await self._audio.flush()
                self._face = (name, emoji)
                if not self._pacer.unsent_ms:
                    await self._show_face()
            case Notice(text=text):
                await self._connection.send_sentence(text)
            case Farewell():
                self._farewell = True
            case ToolCalled() | ToolReturned():
                self._tools.note(chunk)
            case SpeechAhead():
                self._expect_audio()

    def _miss(self, failed: SentenceFailed) -> None:
        """Go on without a sentence. One that broke off was not said either."""
        if self._subtitle is None:
            self._pacer.break_off()
        self._subtitle = None
        self._misses_words |= not self._context.history.unsaid(failed.turn_id, failed.text)
        self._record.failed("tts", failed.reason, failed.detail, partial=True)

    def _expect_audio(self) -> None:
        """Get the device ready: words to be spoken have come."""
        if self._group is not None:
            self.start.expect_audio(self._group)

    async def _before_audio(self) -> None:
        """Take the floor and show the sentence: only now is there something to hear."""
        if not self.start.taken:
            await self.start.take()
        if self._subtitle is not None:
            await self._pacer.put_sentence(self._subtitle, face=self._face)
            self._subtitle = self._face = None

    async def _show_face(self) -> None:
        """Show the face that waits for a sentence behind those that are still to be played."""
        if self._face is not None and not self._over:
            await self._connection.send_emotion(*self._face)
        self._face = None

"""Carries out the floor's table: takes turns, starts, cuts and holds replies.

What happens comes in as an :class:`~vixio.core.turns.floor.Input`; the table says what to do. The
words of the user come out of the engine, partly from a task of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from vixio.core.chunk import (
    Abort,
    AudioIn,
    Chunk,
    DeviceAsleep,
    EarlyTranscript,
    ListenStart,
    ListenStop,
    PartialTranscript,
    TextInput,
    Transcript,
    TurnDropped,
    TurnFailed,
    TurnResumed,
    TurnStarted,
    UserTurn,
)
from vixio.core.clock import now
from vixio.core.daily_turns import DailyTurns
from vixio.core.device import DeviceProfile
from vixio.core.messages import failure_key
from vixio.core.messages.fault import Fault
from vixio.core.session import events
from vixio.core.session.ahead import ThinkingAhead
from vixio.core.session.answers import Answers
from vixio.core.session.emitter import Emitter
from vixio.core.session.endings import Alert, Endings
from vixio.core.session.engine import Engine
from vixio.core.session.idle_time import IdleTime
from vixio.core.session.peace import Peace
from vixio.core.session.reply import Reply
from vixio.core.session.reply_slot import Post, ReplyParts, ReplySlot
from vixio.core.session.session_floor import SessionFloor
from vixio.core.session.settings import SessionSettings
from vixio.core.session.speech import Priority, SpeechHandle, SpeechStatus
from vixio.core.session.speech_queue import SpeechQueue
from vixio.core.session.utterances import Utterances, joined
from vixio.core.session.voice_over import VoiceOver
from vixio.core.station import StationContext
from vixio.core.transport import DeviceConnection
from vixio.core.turns.floor import Action, Input
from vixio.core.turns.interruption import InterruptionPolicy


class Dialogue:
    """Turns and replies of one :class:`~vixio.core.session.session.Session`."""

    def __init__(
        self,
        connection: DeviceConnection,
        engine: Engine,
        context: StationContext,
        settings: SessionSettings,
        profile: DeviceProfile,
        emit: Emitter,
        policy: InterruptionPolicy,
        daily_turns: DailyTurns,
        post: Post,
        on_idle: Callable[[], None],
    ) -> None:
        """``on_idle`` is called when the floor becomes free."""
        self.engine = engine
        self.floor = SessionFloor(emit, self._free)
        context.surely_over = lambda: self.floor.audible and "aec" not in connection.device.features
        self.endings = Endings(connection, self.floor, context.spawn)
        self._connection = connection
        self._context = context
        self._emit = emit
        self._post = post
        self._on_idle = on_idle
        self._utterances = Utterances()
        self._speeches = SpeechQueue()
        self.peace = Peace(connection, settings.zone, context.counters)
        self._over = False
        """Whether nobody is served any more, see :meth:`send_away`."""
        self._void: set[int] = set()
        """Turns that were called off while their words were sent to the device."""
        self._ahead = ThinkingAhead(context)
        self._idle = IdleTime(self.floor)
        self._slot = ReplySlot(
            ReplyParts(
                connection,
                context,
                settings,
                emit,
                self.endings,
                self.floor,
                self._utterances,
                self._speeches,
                lambda: self.engine,
                post,
                self._reply_over,
                lambda: self.idle and not self.waiting,
            )
        )
        cut = partial(self.happen, Input.BARGE_IN, cause="voice")
        self._voice_over = VoiceOver(policy, self.floor, self._slot, context, cut, self._speeches)
        self._kept_turn: UserTurn | None = None
        """What the user said over a speech that is not interruptible; answered behind it."""

        self._answers = Answers(
            context, self.floor, self._slot, self._speeches, daily_turns, profile
        )
        self.follow(profile)
        self._idle.active(now())

    # ── the session's side ───────────────────────────────────────────────────────────────────

    def follow(self, profile: DeviceProfile) -> None:
        """Go on with what another profile says of the conversation."""
        self._answers.follow(profile, greet=self._connection.awake)
        self._idle.limit = profile.idle_timeout or 0.0
        self.peace.hours = profile.quiet_hours

    def bind(self) -> None:
        """Connect the engine."""
        self._context.hears_freely = False  # until its recogniser, if it has one, says so
        self.engine.bind(self._context, self._heard)

    async def use(self, engine: Engine, audio: Iterable[AudioIn]) -> None:
        """Go on with another engine, which hears ``audio`` first. Only while :attr:`idle`.

        With a closed microphone it hears nothing.
        """
        self.engine = engine
        self.bind()
        if self.floor.microphone:
            for chunk in (ListenStart(self.floor.mode), *audio):
                await engine.feed(chunk, now())

    def wakes(self, text: str) -> bool:
        """Whether the device's profile names ``text`` as a wake word, besides the usual ones."""
        return self._answers.own.wakes(text)

    @property
    def idle(self) -> bool:
        """Whether the user is silent and no reply is made."""
        return self.floor.quiet and self._slot.reply is None and not self._utterances

    @property
    def sounds(self) -> bool:
        """Whether a sound is played or held, which nobody need hear to its end."""
        return self._slot.sounds

    @property
    def user_speaking(self) -> bool:
        """Whether an utterance is heard or still recognised."""
        return bool(self._utterances)

    @property
    def over_at(self) -> float:
        """When the last utterance ended, or what was heard became void."""
        return self._utterances.over_at

    @property
    def waiting(self) -> bool:
        """Whether a speech or an answer waits for a free floor."""
        held = self.peace.held and self.peace.until is None
        return bool(held or self._speeches) or self._kept_turn is not None

    @property
    def speech_due(self) -> float | None:
        """When :meth:`next_speech` has something to do; None: not before something happens."""
        if not self.idle:
            return None
        due = self._speeches.due
        return self.peace.due(now()) if due is None else max(due, 0.0)

    def woken(self) -> None:
        """A conversation begins: first the user may say something."""
        self._speeches.disturbed(now())

    @property
    def goodbye_due(self) -> float | None:
        """When :meth:`end_idle` is to be called; None: not before something happens."""
        free = self.idle and not (self.waiting or self._over)
        return self._idle.over_at(roused=self._connection.roused) if free else None

    async def end_idle(self) -> None:
        """Say goodbye: nobody has spoken for long. Not while something is waited for."""
        tools = self._context.session_tools
        if tools is not None and (tools.awaits_consent or tools.working):
            self._idle.hold(now())
        elif self._connection.roused:
            await self._connection.hang_up("nobody has answered")
        else:
            await self._say(self._answers.own.idle_goodbye())

    async def happen(self, happened: Input, chunk: Chunk | None = None, *, cause: str = "") -> None:
        """Take an input of the device or a command; ``chunk`` is what the engine may be fed."""
        self._idle.active(now())
        if happened is not Input.STOP and happened is not Input.HUNG_UP:
            self.endings.go_on()
        actions = self.floor.step(happened)
        news = self._switch(chunk)
        stopped = False
        for action in actions:
            match action:
                case Action.FEED if chunk is not None and news:
                    if not isinstance(chunk, ListenStop):
                        self._utterances.clear()
                    await self.engine.feed(chunk, now())
                case Action.RESET:
                    self._utterances.clear()
                    await self.engine.feed(Abort("wake word"), now())
                case Action.CUT:
                    stopped = await self._slot.cut(cause, happened)
                case Action.SILENCE if not stopped:
                    self.endings.hold_stop()
                case Action.GREET if isinstance(chunk, TextInput):
                    if (greeting := self._answers.own.greeting(chunk.text)) is not None:
                        await self._say(greeting)
                case _:
                    pass

    def _switch(self, chunk: Chunk | None) -> bool:
        """Take note of the microphone; return whether ``chunk`` is news for the engine."""
        if isinstance(chunk, ListenStart):
            self.endings.listens()
            return self.floor.microphone_on(chunk.mode)
        if isinstance(chunk, DeviceAsleep):
            self._speeches.end_sounds()
        return self.floor.microphone_off() if isinstance(chunk, ListenStop | DeviceAsleep) else True

    async def offer(self, handle: SpeechHandle) -> None:
        """Take a speech of a command: now, or when its time has come. A sound gives way to it."""
        over = handle.priority is Priority.HIGH or self._slot.sounds
        if over and not self.floor.quiet and not self._utterances:
            await self._say(handle)
        else:
            self._speeches.add(handle)
            if handle.done:
                self._context.counters.add("session.speech_refused")
            await self.next_speech()

    async def next_speech(self) -> None:
        """Begin what waits, if the floor is free: an answer, or else the next speech."""
        if not self.idle:
            return
        self.peace.release(self._speeches)
        turn, self._kept_turn = self._kept_turn, None
        if turn is not None:
            await self._take_turn(turn)
        elif (handle := self._speeches.take(now())) is not None:
            await self._say(handle)

    async def take_back(self, handle: SpeechHandle) -> None:
        """Drop a speech that waits, cut one that plays."""
        if self._speeches.remove(handle) or self.peace.held.remove(handle):
            handle.end(SpeechStatus.DROPPED)
        elif self._slot.reply is not None and self._slot.reply.speech is handle:
            await self.happen(Input.STOP, cause="cancelled")

    async def last_sentence(self, ended: Callable[[], None]) -> None:
        """Call ``ended`` when the sentence that sounds has been played; no other follows it."""
        if self._slot.sounds:
            ended()
        elif self._slot.reply is not None:
            self._slot.reply.pacer.end_with_sentence(ended)

    async def send_away(self, notice: Alert, reason: str) -> None:
        """Say nothing more, show why, and close the connection once that can have been read."""
        await self.happen(Input.STOP, cause="sent away")
        self._over, self._kept_turn = True, None
        while self._speeches:
            self._speeches.pop().end(SpeechStatus.DROPPED)
        self.endings.show_later(notice)
        self._context.spawn(self.endings.close(1000, reason))

    def hang_up(self) -> None:
        """The connection is gone: what was heard of the reply stays in the history."""
        self._ahead.drop()
        self._slot.hang_up()

    # ── the user ─────────────────────────────────────────────────────────────────────────────

    async def _heard(self, chunk: Chunk) -> None:
        match chunk:
            case TurnStarted(turn_id=turn_id):
                self._utterances.begin(turn_id)
                self._speeches.disturbed(now())
                await self._voice_over.heard(turn_id)
            case PartialTranscript(turn_id=turn_id, text=text):
                self._emit(events.PartialTranscript, turn_id, text)
                await self._voice_over.heard(turn_id, text)
            case EarlyTranscript(text=text):
                free = self._slot.reply is None and not self.waiting and not self._over
                if text and free and self._answers.would_ask(text):
                    self._ahead.begin(chunk, self.engine)
                else:
                    self._ahead.drop()
                self._post(self._may_end)  # before another packet comes
            case TurnResumed():
                self._ahead.drop()
            case Transcript(turn_id=turn_id, text=text):
                self._emit(events.FinalTranscript, turn_id, text, not chunk.rejected, chunk.guess)
                if text and not self._over:
                    await self._show(turn_id, text)
            case UserTurn() | TurnFailed() | TurnDropped():
                await self._has_talked(chunk)
            case _:
                pass

    async def _may_end(self) -> None:
        """Let the turn end if it has been silent for long enough, for what is known now."""
        await self.engine.expire(now())

    async def _show(self, turn_id: int, text: str) -> None:
        """Show the user's words. A stalled connection leaves time to call them off."""
        current = turn_id in self._utterances
        await self._connection.send_transcript(text)
        if current and turn_id not in self._utterances:
            self._void.add(turn_id)

    async def _take_turn(self, turn: UserTurn) -> None:
        if self._answers.own.ends(turn):
            await self._answers.leave(turn)
            return
        reply = self._slot.reply
        kept, self._kept_turn = self._kept_turn, None
        if kept is not None:
            turn = joined(kept, turn) if turn.understood else kept
        if self._slot.uninterruptible:
            self._kept_turn = turn if turn.understood else None
            return
        for action in self.floor.step(Input.TURN if turn.understood else Input.UNCLEAR):
            match action:
                case Action.CUT:
                    await self._slot.cut("superseded")
                case Action.REPLY:
                    self._answers.begin(turn, ahead=self._ahead.take(turn))
                case Action.JOIN:
                    counted = False
                    if reply is not None and not reply.timeline.called_tools:
                        counted = reply.speech is None and reply.turn.understood
                        turn = self._join(reply, turn)
                    await self._slot.cut("superseded")
                    self._answers.begin(turn, counted=counted)
                case _:
                    self._slot.hold(action)

    async def _turn_failed(self, failed: TurnFailed) -> None:
        self._emit(events.Failure, failed.turn_id, failed.stage, failed.reason, failed.detail)
        if self._slot.uninterruptible:
            return  # the apology would cut it
        for action in self.floor.step(Input.TURN_FAILED):
            match action:
                case Action.CUT:
                    await self._slot.cut("failed")
                case Action.APOLOGISE:
                    key = failure_key(failed.reason)
                    fault = Fault(key, failed.reason, failed.stage)
                    self._slot.start(UserTurn(failed.turn_id, ""), failed=fault)
                case _:
                    self._slot.hold(action)

    def _join(self, pending: Reply, turn: UserTurn) -> UserTurn:
        """Make one turn of two: the user went on before anything was answered.

        A slow recogniser may bring the earlier words later.
        """
        first = pending.turn
        self._slot.cut_for_more(pending)
        if pending.speech is not None or not (first.understood and first.text):
            return turn
        self._context.history.forget(first.turn_id)
        both = joined(first, turn)
        if both.turn_id == first.turn_id:  # the record so far is of the answer that was given up
            self._context.renew_timeline(first.turn_id)
        return both

    async def _has_talked(self, end: UserTurn | TurnFailed | TurnDropped) -> None:
        """Take the end of an utterance, whatever came of it."""
        if isinstance(end, UserTurn) and end.understood:
            self._connection.roused = False
        turn_id, reply = end.turn_id, self._slot.reply
        match end:
            case UserTurn() if not self._over and turn_id not in self._void:
                if await self._voice_over.settles(end):
                    self._context.end_timeline(turn_id)
                else:
                    await self._take_turn(end)
            case TurnFailed() if not self._over:
                await self._turn_failed(end)
            case _:
                self._void.discard(turn_id)
                self._context.end_timeline(turn_id)
                self._slot.hold(*self.floor.step(Input.NO_TURN))
        self._ahead.drop()
        self._utterances.end(turn_id)
        self._speeches.disturbed(now())
        self._free()
        if reply is not None and self._pressing:
            self._post(lambda: self._replace(reply))

    @property
    def _pressing(self) -> bool:
        return self._speeches.urgent or (self._slot.sounds and bool(self._speeches))

    async def _replace(self, reply: Reply) -> None:
        """Let a speech that waited for the user, and waits no longer, cut what goes on."""
        if self._slot.reply is reply and self._pressing and not self._utterances:
            await self._say(self._speeches.pop())

    # ── the assistant ────────────────────────────────────────────────────────────────────────

    async def _say(self, handle: SpeechHandle) -> None:
        if self._over:
            handle.end(SpeechStatus.DROPPED)
            return
        if self.peace.keeps(handle):
            self._free()
            return
        for action in self.floor.step(Input.SPEECH):
            if action is Action.CUT:
                await self._slot.cut("replaced")
            elif action is Action.SAY:
                turn_id = self._context.history.next_turn_id()
                text = handle.text if handle.question else ""
                self._slot.start(UserTurn(turn_id, text, commanded=True), speech=handle)

    def _reply_over(self) -> None:
        self._idle.active(now())
        self._free()

    def _free(self) -> None:
        if self.idle:
            self._on_idle()

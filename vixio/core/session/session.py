"""One device's conversation, from its hello to the end of its connection.

One task listens: it is the only reader of the connection and of the session's inbox, and it carries
out what the floor's table says. One more task runs while a reply is made and played. The listening
task never waits for a model: what takes long happens in the reply's task or in a station's own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime

from vixio.core.chunk import (
    Abort,
    AudioIn,
    Chunk,
    DeviceAsleep,
    DeviceAwake,
    ListenMode,
    ListenStart,
    ListenStop,
    TextInput,
)
from vixio.core.clock import now
from vixio.core.device import Device, DeviceProfile
from vixio.core.errors import ConnectionClosed
from vixio.core.history import History, HistoryItem
from vixio.core.metrics import Counters, TurnTimeline
from vixio.core.session.dialogue import Dialogue
from vixio.core.session.emitter import Emitter
from vixio.core.session.endings import Alert
from vixio.core.session.engine import Engine
from vixio.core.session.engine_swap import EngineSwap, MakeEngine
from vixio.core.session.events import (
    ConversationEnded,
    ConversationOpened,
    SessionClosed,
    SessionOpened,
)
from vixio.core.session.settings import SessionSettings, SharedParts
from vixio.core.session.speech import Priority, Script, SpeechHandle, SpeechStatus
from vixio.core.session.tasks import SessionTasks
from vixio.core.station import StationContext
from vixio.core.tools.session import SessionTools
from vixio.core.tools.toolset import ToolSet
from vixio.core.transport import GOING_AWAY, DeviceConnection
from vixio.core.turns.floor import WAKE_WINDOW_S, Input
from vixio.core.watchdog import Watchdog

_log = logging.getLogger(__name__)

Command = Callable[[], Awaitable[None]]
"""Carried out by the listening task."""

MAX_SPEECHES = 32
"""Speeches of one session that are not over: twice what may wait for the floor. It bounds the
inbox of a listening task whose connection stalls; the newest is refused."""


class Session:
    """A connected device with its engine. :meth:`run` lasts as long as the connection.

    ``say``, ``ask``, ``interrupt``, ``reconfigure`` and ``close`` may be called from any task of
    the event loop.
    """

    def __init__(
        self,
        connection: DeviceConnection,
        engine: Engine,
        history: History,
        tools: ToolSet,
        counters: Counters,
        settings: SessionSettings,
        session_tools: SessionTools | None = None,
        *,
        profile: DeviceProfile | None = None,
        make_engine: MakeEngine | None = None,
        shared: SharedParts | None = None,
    ) -> None:
        """``make_engine`` makes another engine for another profile, see :meth:`reconfigure`."""
        shared = shared or SharedParts()
        self.connection = connection
        self.session_id = connection.session_id
        self.device_id = connection.device.id
        self.profile = profile or settings.default_profile()
        """How the device is served now."""
        self._emit = Emitter(shared.events, self.device_id, self.session_id)
        self._tasks = SessionTasks(counters)
        self._watchdog = Watchdog()
        self._inbox: list[Command] = []
        self._interruption: Command | None = None
        """The interruption that was put into the inbox last."""
        self._wanted: DeviceProfile | None = None
        """The profile that a command in the inbox changes to."""
        self._speeches: list[SpeechHandle] = []
        """Those that are not over: on their way to the dialogue, waiting in it, or played."""
        self._ended = self._leaving = self._sent_away = False
        self._why = ""
        """Why the session ended."""
        self.context = StationContext(
            session_id=self.session_id,
            device_id=self.device_id,
            history=history,
            tools=tools,
            counters=counters,
            spawn=self._tasks.spawn,
            language=self.profile.language,
            phrases=self.profile.phrases,
            session_tools=session_tools,
            encoders=shared.encoders,
        )
        self._dialogue = Dialogue(
            connection,
            engine,
            self.context,
            settings,
            self.profile,
            self._emit,
            shared.interruption(),
            shared.daily_turns,
            self._post,
            self._free,
        )
        self._floor = self._dialogue.floor
        self.endings = self._dialogue.endings
        self._swap = EngineSwap(make_engine)
        if session_tools is not None:
            session_tools.play = lambda sound: self._offer(SpeechHandle.of_sound(sound))
            session_tools.deliver_by(
                lambda text, items: self._offer(
                    SpeechHandle(text, Priority.LOW, items=items, patient=True)
                )
            )

    @property
    def device(self) -> Device:
        """What the device says of itself, as of its last hello."""
        return self.connection.device

    @property
    def state(self) -> str:
        """Who has the floor: a value of :class:`~vixio.core.turns.floor.State`."""
        return self._floor.state

    @property
    def hears(self) -> bool:
        """Whether the device's microphone is open and no answer is played over it."""
        floor = self._floor
        return floor.microphone and (floor.full_duplex or not floor.audible)

    @property
    def next_profile(self) -> DeviceProfile:
        """The profile that was asked for last, if it is not in force yet; else the current one."""
        return self._wanted or self._swap.profile or self.profile

    @property
    def quiet_until(self) -> datetime | None:
        """When the device may be disturbed again by what nobody has asked for; None: it may now."""
        return self._dialogue.peace.until

    @property
    def user_speaking(self) -> bool:
        """Whether an utterance of the user is heard or still recognised."""
        return self._dialogue.user_speaking

    @property
    def timelines(self) -> list[TurnTimeline]:
        """The records of the turns under way, oldest first. Ended ones are events."""
        return list(self.context.timelines.values())

    # ── commands ─────────────────────────────────────────────────────────────────────────────

    def say(
        self,
        text: str,
        *,
        priority: Priority = Priority.NORMAL,
        interruptible: bool = True,
        items: Sequence[HistoryItem] = (),
    ) -> SpeechHandle:
        """Speak ``text`` verbatim; the history keeps the part that was played.

        ``items`` stand before it in the history, such as the tool result that it reports. The
        handle ends at once as DROPPED when too many speeches wait (:data:`MAX_SPEECHES`), and as
        QUIET where the device is idle in its quiet hours and the priority is not HIGH.
        """
        return self._offer(SpeechHandle(text, priority, interruptible=interruptible, items=items))

    def ask(
        self, text: str, *, priority: Priority = Priority.NORMAL, interruptible: bool = True
    ) -> SpeechHandle:
        """Have ``text`` answered as if the user had said it; refused as :meth:`say` is.

        It never counts as the user's yes to a tool, and withdraws a question that waits for one.
        """
        return self._offer(SpeechHandle(text, priority, interruptible=interruptible, question=True))

    def perform(self, script: Script, *, priority: Priority = Priority.NORMAL) -> SpeechHandle:
        """Have the words of ``script`` spoken, which are written when their turn has come.

        As :meth:`say` otherwise.
        """
        return self._offer(SpeechHandle("", priority, script=script))

    def interrupt(self, reason: str = "command") -> None:
        """Cut the reply that is made or played, if any."""
        if self._inbox and self._inbox[-1] is self._interruption:
            return  # it would find nothing to cut
        self._interruption = lambda: self._dialogue.happen(Input.STOP, cause=reason)
        self._post(self._interruption)

    def reconfigure(self, profile: DeviceProfile) -> None:
        """Serve the device by ``profile`` from its next turn on.

        If its engine cannot be made, the current profile stays.
        """
        waiting, self._wanted = self._wanted, profile
        if waiting is None:
            self._post(self._reconfigure)

    def leave(self, *, whole: bool = True) -> None:
        """Close the connection (1001) once nobody speaks; ``whole``: once a reply has been heard
        to its end, otherwise the sentence of it that sounds."""
        self._leaving = True
        if not whole or self._dialogue.sounds:
            self._post(lambda: self._dialogue.last_sentence(lambda: self.interrupt("stopping")))
        self._post(self._go_on)

    async def close(self, reason: str = "closed by the server") -> None:
        """End the conversation, once the device has taken in what it was sent."""
        await self.endings.settled()
        await self.connection.hang_up(reason)

    def send_away(self, notice: Alert, reason: str) -> None:
        """Serve the device no more: show why, and close the connection some seconds later."""
        self._sent_away = True
        self._post(lambda: self._dialogue.send_away(notice, reason))

    def _offer(self, handle: SpeechHandle) -> SpeechHandle:
        if self._ended or self._sent_away or not (handle.script or handle.text.strip()):
            handle.end(SpeechStatus.DROPPED)
            return handle
        self._speeches = [each for each in self._speeches if not each.done]
        if len(self._speeches) >= MAX_SPEECHES:
            self.context.counters.add("session.speech_refused")
            handle.end(SpeechStatus.DROPPED)
            return handle
        self._speeches.append(handle)
        handle.attach(lambda given: self._post(lambda: self._dialogue.take_back(given)))
        quiet = self._dialogue.peace.keeps(handle)
        self._post(self._go_on if quiet else lambda: self._dialogue.offer(handle))
        return handle

    def _post(self, command: Command) -> None:
        """Have ``command`` carried out by the listening task, in order."""
        if not self._ended:
            self._inbox.append(command)
            self._watchdog.wake()

    # ── the listening task ───────────────────────────────────────────────────────────────────

    async def run(self) -> None:
        """Converse until the connection closes; nothing of the session is left afterwards."""
        opened = now()
        self._emit(SessionOpened, self.device, self.connection.awake)
        self._why = "the server failed"
        try:
            self._dialogue.bind()
            await self._tasks.run(self._converse)
        except asyncio.CancelledError:
            self._why = "cancelled"
            raise
        finally:
            self._ended = True
            self._inbox.clear()
            for handle in self._speeches:
                handle.end(SpeechStatus.DROPPED)
            await self._swap.close()
            await self._dialogue.engine.close()
            self._emit(SessionClosed, now() - opened, self._why)

    async def _converse(self) -> None:
        try:
            await self._listen()
        except ConnectionClosed as closed:
            self._why = str(closed)
        finally:
            self._watchdog.close()
            # Before its task is cancelled: a reply cut here leaves in the history what was heard
            # of it, a cancelled one all that was written.
            self._dialogue.hang_up()

    async def _listen(self) -> None:
        connection = self.connection
        receive = connection.receive
        watchdog = self._watchdog
        while True:
            while self._inbox:
                await self._inbox.pop(0)()
            connection.may_gather = self._dialogue.idle
            try:
                with watchdog.until(self._deadline()):
                    chunk = await receive()
            except TimeoutError:
                if not watchdog.expired:
                    raise
                await self._expire(now())
            else:
                await self._take(chunk)

    def _deadline(self) -> float | None:
        dialogue = self._dialogue
        deadline = dialogue.engine.deadline
        if not dialogue.idle:
            return deadline
        others = [self.endings.closes_at if self._leaving else dialogue.goodbye_due]
        if not self._leaving and (self._swap.pending or dialogue.waiting or dialogue.peace.held):
            others += (dialogue.speech_due, self._swap.due(dialogue.over_at))
        for other in others:
            if other is not None and (deadline is None or other < deadline):
                deadline = other
        return deadline

    async def _expire(self, at: float) -> None:
        deadline = self._dialogue.engine.deadline
        if deadline is not None and deadline <= at:
            await self._dialogue.engine.expire(at)
        await self._go_on()
        goodbye = None if self._leaving else self._dialogue.goodbye_due
        if goodbye is not None and goodbye <= at:
            await self._dialogue.end_idle()

    async def _take(self, chunk: Chunk) -> None:
        if self._sent_away:
            return
        at = now()
        if isinstance(chunk, AudioIn):
            if self._floor.hears_at(at):
                if self._swap.pending:
                    self._swap.keep(chunk)
                await self._dialogue.engine.feed(chunk, at)
            else:
                self.context.counters.add("session.audio_ignored")
            return
        await self._control(chunk, at)
        # What has arrived already is read without a wait: a device that sends controls without end
        # gives way to the others here.
        await asyncio.sleep(0)

    async def _control(self, chunk: Chunk, at: float) -> None:
        happen = self._dialogue.happen
        match chunk:
            case ListenStart(mode=mode):
                expected = self._floor.expects_start(at)
                manual = mode is ListenMode.MANUAL
                start = Input.BUTTON_DOWN if manual else Input.LISTEN_START
                await happen(Input.OWN_START if expected else start, chunk, cause="listen")
            case ListenStop():
                await happen(Input.LISTEN_STOP, chunk)
            case TextInput():
                self.connection.roused = False
                self._floor.expect_start(at + WAKE_WINDOW_S)
                if self._dialogue.wakes(chunk.text):
                    chunk = replace(chunk, wake_word=True)
                happened = Input.WAKE_WORD if chunk.wake_word else Input.TYPED
                await happen(happened, chunk, cause="text")
            case Abort(reason=reason):
                await happen(Input.ABORT, chunk, cause=reason or "abort")
            case DeviceAwake(anew=anew):
                if anew:
                    await happen(Input.HUNG_UP, DeviceAsleep(), cause="replaced")
                self._dialogue.woken()
                self._emit(ConversationOpened, self.device)
            case DeviceAsleep():
                await happen(Input.HUNG_UP, chunk, cause="hung up")
                self._emit(ConversationEnded)
            case _:
                self.context.counters.add("session.chunk_ignored")

    def _free(self) -> None:
        if self._dialogue.waiting or self._swap.pending or self._leaving:
            self._post(self._go_on)
        elif self._dialogue.goodbye_due is not None:
            self._watchdog.wake()  # it has a deadline now, even if the device sends nothing

    async def _go_on(self) -> None:
        """Start what has waited for a free floor: the end, another engine, the next speech."""
        if self._dialogue.idle and self._leaving:
            if self.endings.closes_at <= now():
                await self.connection.close(GOING_AWAY, "the server is stopping")
        elif self._dialogue.idle:
            over_at = self._dialogue.over_at
            if self._swap.ready(now(), over_at, microphone=self._floor.hears):
                await self._swap_engine()
            await self._dialogue.next_speech()

    # ── another profile ──────────────────────────────────────────────────────────────────────

    async def _reconfigure(self) -> None:
        profile, self._wanted = self._wanted, None
        if profile is None:
            return
        self._swap.ask(profile, now())
        self._tasks.spawn(self._prepare_engine())
        self._tasks.spawn(self._swap.close_discarded())

    async def _prepare_engine(self) -> None:
        if await self._swap.prepare():
            self._post(self._go_on)

    async def _swap_engine(self) -> None:
        profile, engine, audio = self._swap.take(self._dialogue.over_at)
        self._swap.discard(self._dialogue.engine)
        self.profile = profile
        self.context.language = profile.language
        self.context.phrases = profile.phrases
        if self.context.session_tools is not None:
            self.context.session_tools.reconfigure(profile)
        self._dialogue.follow(profile)
        await self._dialogue.use(engine, audio)
        self._tasks.spawn(self._swap.close_discarded())

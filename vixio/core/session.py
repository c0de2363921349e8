"""One device's conversation, from its hello to the end of its connection.

One task listens (it is the only reader of the connection), one more runs while a reply is made and
played. The listening task never waits for a model: what takes long happens in the reply's task or
in a station's own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from vixio.core.chunk import (
    Abort,
    AudioIn,
    Chunk,
    ListenMode,
    ListenStart,
    ListenStop,
    TextInput,
    Transcript,
    TurnDropped,
    TurnFailed,
    TurnStarted,
    UserTurn,
)
from vixio.core.clock import now
from vixio.core.errors import ConnectionClosed
from vixio.core.history import History
from vixio.core.listen_gate import ListenGate
from vixio.core.messages import failure_key
from vixio.core.metrics import Counters, TurnTimeline
from vixio.core.pacer import Pacer
from vixio.core.pipeline import Pipeline
from vixio.core.reply import Reply, ReplySettings
from vixio.core.station import StationContext
from vixio.core.tools.runner import SessionTools
from vixio.core.tools.toolset import ToolSet
from vixio.core.transport import DeviceConnection
from vixio.core.watchdog import Watchdog

_log = logging.getLogger(__name__)

KEPT_TIMELINES = 50
"""Records of past turns that a session keeps for whoever looks."""


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """How a session behaves.

    ``language`` (BCP 47) is the one the assistant uses when it speaks for itself; ``wake_reply``
    is said when the device reports its wake word, nothing if empty. ``hold``: seconds for which a
    reply that is ready waits for a user who has begun to speak again.
    """

    language: str = "en"
    wake_reply: str = ""
    hold: float = 3.0
    reply: ReplySettings = field(default_factory=ReplySettings)


class Session:
    """A connected device with its pipeline. :meth:`run` lasts as long as the connection."""

    def __init__(
        self,
        connection: DeviceConnection,
        pipeline: Pipeline,
        history: History,
        tools: ToolSet,
        counters: Counters,
        settings: SessionSettings,
        session_tools: SessionTools | None = None,
        encoders: Executor | None = None,
    ) -> None:
        self.connection = connection
        self._pipeline = pipeline
        self._settings = settings
        self._gate = ListenGate()
        self._void = False
        self._talking: set[int] = set()
        self._floor_free = asyncio.Event()
        self._floor_free.set()
        self._group: asyncio.TaskGroup | None = None
        self._reply: Reply | None = None
        self._cut: Pacer | None = None
        self.context = StationContext(
            session_id=connection.session_id,
            device_id=connection.device.id,
            history=history,
            tools=tools,
            counters=counters,
            spawn=self._spawn,
            language=settings.language,
            session_tools=session_tools,
            encoders=encoders,
        )

    @property
    def timelines(self) -> list[TurnTimeline]:
        """The records of the last turns, oldest first."""
        return list(self.context.timelines.values())

    async def run(self) -> None:
        """Converse until the connection closes; nothing of the session is left afterwards."""
        try:
            self._pipeline.bind(self.context, self._heard)
            async with asyncio.TaskGroup() as group:
                self._group = group
                try:
                    with suppress(ConnectionClosed):
                        await self._listen()
                finally:
                    # Before the group cancels it: a reply cut here leaves in the history what was
                    # heard of it, a cancelled one all that was written.
                    self._stop_reply("disconnected")
                raise _SessionOver
        except* _SessionOver:
            pass
        finally:
            self._group = None
            await self._pipeline.close()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        if self._group is None:
            work.close()
            return
        guarded = self._guard(work)
        try:
            task = self._group.create_task(guarded)
        except RuntimeError:  # the group is ending
            guarded.close()
            work.close()
        else:
            # A task that is cancelled before its first step has not awaited the work.
            task.add_done_callback(lambda _: work.close())

    async def _guard(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except* ConnectionClosed:
            pass  # the listening task sees it too, and ends the session
        except* Exception:  # noqa: BLE001 - a defect must cost one turn, not the conversation
            self.context.counters.add("session.defect")
            _log.exception("a task of the session failed")

    # ── listening ────────────────────────────────────────────────────────────────────────────

    async def _listen(self) -> None:
        watchdog = Watchdog()
        try:
            await self._listen_under(watchdog)
        finally:
            watchdog.close()

    async def _listen_under(self, watchdog: Watchdog) -> None:
        receive = self.connection.receive
        while True:
            deadline = self._pipeline.deadline
            if deadline is None:
                await self._take(await receive())
                continue
            try:
                with watchdog.until(deadline):
                    chunk = await receive()
            except TimeoutError:
                if not watchdog.expired:
                    raise
                await self._forget_heard()
                await self._pipeline.expire(now())
            else:
                await self._take(chunk)

    async def _forget_heard(self) -> None:
        """Void what was being heard when the device began to speak.

        The reply's task only asks for it: the stations are fed by the listening task alone.
        """
        if self._void:
            self._void = False
            self._nobody_talks()
            await self._pipeline.feed(Abort("speaking"), now())

    async def _take(self, chunk: Chunk) -> None:
        at = now()
        await self._forget_heard()
        match chunk:
            case AudioIn():
                if self._gate.open:
                    await self._pipeline.feed(chunk, at)
                else:
                    self.context.counters.add("session.audio_ignored")
            case ListenStart(mode=mode):
                await self._listen_start(mode, at)
            case ListenStop():
                if self._gate.stop():
                    await self._pipeline.feed(chunk, at)
            case TextInput():
                await self._typed(chunk, at)
            case Abort(reason=reason):
                self._nobody_talks()
                await self._pipeline.feed(chunk, at)
                await self._interrupt(reason or "abort", stop_anyway=True)
            case _:
                self.context.counters.add("session.chunk_ignored")
        if not isinstance(chunk, AudioIn):
            # What has come already is read without a wait: a device that sends controls without end
            # leaves the loop to the others in between.
            await asyncio.sleep(0)

    async def _listen_start(self, mode: ListenMode, at: float) -> None:
        interrupts = not self._gate.follows_wake(at)
        reply = self._reply
        # While the reply is only being thought about, the firmware's repeated start in auto mode
        # means nothing; a new press of the button does.
        if interrupts and reply is not None and (reply.speaking or mode is ListenMode.MANUAL):
            await self._interrupt("listen")
        if self._gate.start(mode) or mode is ListenMode.MANUAL:
            self._nobody_talks()
            await self._pipeline.feed(ListenStart(mode), at)

    async def _typed(self, typed: TextInput, at: float) -> None:
        self._gate.wake(at)
        self._nobody_talks()
        await self._interrupt("text")
        if not typed.wake_word:
            await self._pipeline.feed(typed, at)
            return
        await self._pipeline.feed(Abort("wake word"), at)
        if self._settings.wake_reply:
            turn_id = self.context.history.next_turn_id()
            self._start_reply(UserTurn(turn_id, ""), say=self._settings.wake_reply)

    async def _heard(self, chunk: Chunk) -> None:
        """Take what leaves the listening half; some of it comes from a station's own task."""
        match chunk:
            case TurnStarted(turn_id=turn_id):
                self._talking.add(turn_id)
                self._floor_free.clear()
                if self._gate.mode is ListenMode.REALTIME:
                    await self._interrupt("voice", only_speaking=True)
            case Transcript(text=text) if text:
                await self.connection.send_transcript(text)
            case UserTurn(turn_id=turn_id):
                await self._take_turn(chunk)
                self._has_talked(turn_id)
            case TurnFailed(turn_id=turn_id, stage=stage, detail=detail, reason=reason):
                self._has_talked(turn_id)
                self.context.counters.add(f"turn.failed.{stage}")
                _log.warning("turn failed in %s: %s", stage, detail)
                await self._interrupt("failed")
                self._start_reply(UserTurn(turn_id, ""), failed=failure_key(reason), reason=reason)
            case TurnDropped(turn_id=turn_id):
                self._has_talked(turn_id)
                self.context.timelines.pop(turn_id, None)
            case _:
                pass

    # ── replying ─────────────────────────────────────────────────────────────────────────────

    async def _take_turn(self, turn: UserTurn) -> None:
        pending = self._reply
        if pending is not None and pending.active and not pending.speaking:
            if not turn.understood:
                return  # noise while the assistant thinks is no reason to drop the question
            if not pending.called_tools:
                turn = self._join(pending, turn)
        await self._interrupt("superseded")
        self._start_reply(turn)

    def _join(self, pending: Reply, turn: UserTurn) -> UserTurn:
        """The user paused and went on before anything was answered: it is one turn.

        A slow recogniser may bring the earlier words later.
        """
        first = pending.turn
        pending.interrupt("continued")
        if not (first.understood and first.text):
            return turn
        self.context.history.forget(first.turn_id)
        if turn.turn_id < first.turn_id:
            return replace(turn, turn_id=first.turn_id, text=f"{turn.text} {first.text}")
        return replace(turn, text=f"{first.text} {turn.text}")

    def _start_reply(
        self, turn: UserTurn, *, failed: str = "", reason: str = "", say: str = ""
    ) -> None:
        reply = Reply(
            turn,
            self._pipeline,
            self.connection,
            self.context,
            self._settings.reply,
            self._cut,
        )
        reply.before_speaking = self._take_floor
        self._reply = reply
        self._spawn(self._run_reply(reply, failed, reason, say))

    async def _run_reply(self, reply: Reply, failed: str, reason: str, say: str) -> None:
        try:
            await reply.run(failed=failed, reason=reason, say=say)
        finally:
            self._finish(reply)
        someone_speaks = self._reply is not None or self._talking
        if reply.farewell and reply.timeline.outcome == "answered" and not someone_speaks:
            self.context.counters.add("session.ended_by_assistant")
            await self.connection.close(1000, "the conversation is over")

    def _has_talked(self, turn_id: int) -> None:
        self._talking.discard(turn_id)
        if not self._talking:
            self._floor_free.set()

    def _nobody_talks(self) -> None:
        self._talking.clear()
        self._floor_free.set()

    async def _take_floor(self) -> None:
        """Let a user who has gone on speaking finish; their words may change the answer."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._settings.hold):
                await self._floor_free.wait()
        self._gate.speaking(True)
        self._void = self._gate.mode is not ListenMode.REALTIME

    def _finish(self, reply: Reply) -> None:
        if self._reply is reply:
            self._reply = None
            self._gate.speaking(False)
        timeline = reply.timeline
        self.context.counters.add(f"turn.outcome.{timeline.outcome.partition(':')[0] or 'none'}")
        _log.info(
            "turn %d %s: %s %s",
            timeline.turn_id,
            timeline.outcome or "unfinished",
            " ".join(f"{name}={ms}" for name, ms in timeline.since_turn_end().items()),
            timeline.model_words(),
        )
        timelines = self.context.timelines
        while len(timelines) > KEPT_TIMELINES:
            del timelines[next(iter(timelines))]

    def _stop_reply(self, cause: str) -> Reply | None:
        reply = self._reply
        if reply is None or not reply.active:
            return None
        reply.interrupt(cause)
        return reply

    async def _interrupt(
        self, cause: str, *, stop_anyway: bool = False, only_speaking: bool = False
    ) -> None:
        """Stop the reply in progress, if any; the device leaves its speaking state.

        ``stop_anyway``: send ``tts stop`` even when nothing was spoken, since a device that asked
        for it stays in its speaking state until it comes.
        """
        reply = self._reply
        if only_speaking and not (reply is not None and reply.speaking):
            return
        speaking = reply is not None and reply.speaking
        stopped = self._stop_reply(cause)
        if stopped is not None:
            self._cut = stopped.pacer if speaking else self._cut
            self._reply = None
            self._gate.speaking(False)
            await stopped.pacer.stopped()
        if speaking or stop_anyway:
            await self.connection.send_speech_stop()


class _SessionOver(Exception):
    """Ends the session's task group: whatever still runs in it is cancelled."""

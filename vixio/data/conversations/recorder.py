"""Puts turns on record: a sink of the event bus that writes behind."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from typing import Final

from vixio.core.device import Device
from vixio.core.log_fields import shared_context
from vixio.core.metrics import Counters
from vixio.core.session.events import (
    Event,
    Failure,
    FinalTranscript,
    SessionClosed,
    SpeechInterrupted,
    SpeechPlayed,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from vixio.core.tasks import cancel_and_wait
from vixio.core.wall_clock import now_ms
from vixio.data.conversations.records import MAX_TOOL_WORDS, MAX_TOOLS, MAX_WORDS, TurnRecord
from vixio.data.conversations.repository import ConversationRepository
from vixio.data.database.database import Database, Row
from vixio.data.database.link import Link, Operation, Rejected, Unavailable
from vixio.data.database.write_behind import WriteBehind

MAX_OPEN: Final = 10_000
"""Turns that have begun and not ended; then the oldest is dropped."""

MAX_KEPT: Final = 10_000
"""Turns that wait for a database that is away; then the oldest is dropped, and counted."""

MAX_HELD_BYTES: Final = 16_000_000
"""Sound that waits for the end of its turn, or for the database; likewise."""

DAY_MS: Final = 86_400_000
PRUNE_S: Final = 3_600.0
"""How often old turns are looked for."""

_Written = tuple[list[TurnRecord], int]
"""The turns, and how many older sounds had to go."""


class TurnRecorder:
    """``keep_days``: turns that are older are removed. ``profile_of``: the name of a device's
    profile, or nothing. ``sound_days``: for which the sound of a device is kept, as it
    is now; None: that is not known yet."""

    def __init__(
        self,
        link: Link[Database],
        counters: Counters,
        keep_days: float,
        profile_of: Callable[[str], str],
        sound_days: Callable[[Device], int | None],
    ) -> None:
        self._link = link
        self._counters = counters
        self._profile_of = profile_of
        self._keep_ms = round(keep_days * DAY_MS)
        self._sound_days = sound_days
        self._sounds: dict[str, bytes] = {}
        """By the ids of turns that are not written."""
        self._held = 0
        self._pruning: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._open: OrderedDict[tuple[str, int], TurnRecord] = OrderedDict()
        self._behind: WriteBehind[list[TurnRecord], _Written] = WriteBehind(
            link,
            list,
            self._write,
            singly=lambda turns: [[turn] for turn in turns],
            dropped=self._dropped,
            written=self._written,
        )

    def __call__(self, event: Event) -> None:
        """Take note of an event."""
        match event:
            case TurnStarted(turn_id=turn, text=text):
                self._at(event, turn).heard = text[:MAX_WORDS]
            case FinalTranscript(turn_id=turn, text=text, guess=guess):
                record = self._at(event, turn)
                record.heard, record.guess = text[:MAX_WORDS], guess[:MAX_WORDS]
            case ToolStarted(turn_id=turn):
                self._began(event)
            case ToolEnded(turn_id=turn):
                self._ended_tool(event)
            case SpeechPlayed(turn_id=turn, text=text):
                self._at(event, turn).said = text[:MAX_WORDS]
            case SpeechInterrupted(turn_id=turn, heard=text):
                self._at(event, turn).said = text[:MAX_WORDS]
            case Failure(turn_id=turn, partial=False):
                self._at(event, turn).error = event.detail or event.reason
            case TurnEnded():
                self._ended(event)
            case SessionClosed():
                for key in [key for key in self._open if key[0] == event.session_id]:
                    self._forget([self._open.pop(key)])  # an utterance that became no turn
            case _:
                pass

    def keep_sound(self, device_id: str, session_id: str, turn: int, pcm: bytes) -> None:
        """Keep what the user said (16 kHz s16 mono) with a turn that is not over."""
        turn_id = self._record(device_id, session_id, turn).id
        self._held += len(pcm) - len(self._sounds.pop(turn_id, b""))  # of a turn that goes on
        self._sounds[turn_id] = pcm
        while self._held > MAX_HELD_BYTES:
            self._held -= len(self._sounds.pop(next(iter(self._sounds))))
            self._counters.add("sounds.dropped")

    def begin(self) -> None:
        """Begin to remove what is old: now, every hour, and when :meth:`look_again` is called."""
        loop = asyncio.get_running_loop()
        self._pruning = loop.create_task(self._prune(), context=shared_context())

    def look_again(self) -> None:
        """Have what a device's profile keeps no longer removed: profiles may have changed."""
        self._changed.set()

    async def caught_up(self) -> None:
        """Have the turns that have ended written before the caller reads or erases them."""
        await self._behind.caught_up()

    async def close(self) -> None:
        """Write what is left, for a bounded time. Idempotent."""
        await cancel_and_wait(self._pruning)
        if not await self._behind.close():
            self._counters.add("conversations.lost", sum(map(len, self._behind.unwritten)))

    def _at(self, event: Event, turn: int) -> TurnRecord:
        return self._record(event.device_id, event.session_id, turn)

    def _record(self, device_id: str, session_id: str, turn: int) -> TurnRecord:
        key = (session_id, turn)
        record = self._open.get(key)
        if record is None:
            record = self._open[key] = TurnRecord(device_id, session_id, turn, now_ms())
            if len(self._open) > MAX_OPEN:
                self._forget([self._open.popitem(last=False)[1]])
        return record

    def _began(self, event: ToolStarted) -> None:
        tools = self._at(event, event.turn_id).tools
        if len(tools) < MAX_TOOLS:
            arguments = event.arguments[:MAX_TOOL_WORDS]
            tools.append({"call": event.call_id, "name": event.name, "arguments": arguments})

    def _ended_tool(self, event: ToolEnded) -> None:
        for tool in self._at(event, event.turn_id).tools:
            if tool.get("call") == event.call_id:
                tool |= {
                    "output": event.output[:MAX_TOOL_WORDS],
                    "success": event.success,
                    "error": event.error_type,
                    "ms": round(event.seconds * 1000),
                }

    def _ended(self, event: TurnEnded) -> None:
        record = self._at(event, event.turn_id)
        del self._open[event.session_id, event.turn_id]
        timeline = event.timeline
        record.outcome = ":".join(filter(None, timeline.result))
        record.stages = timeline.since_turn_end()
        record.models = [asdict(use) for use in timeline.models]
        record.profile = self._profile_of(event.device_id)
        sources = {tool.name: tool.source for tool in timeline.tools}
        for tool in record.tools:
            tool.pop("call", None)
            tool["source"] = sources.get(tool["name"], "")
        batch = self._behind.batch
        batch.append(record)
        if len(batch) > MAX_KEPT:
            self._forget([batch.pop(0)])
            self._counters.add("conversations.lost")
        self._behind.touch()

    async def _write(self, turns: list[TurnRecord], database: Database) -> _Written:
        sounds = {each.id: pcm for each in turns if (pcm := self._sounds.get(each.id)) is not None}
        return turns, await ConversationRepository(database).write(turns, sounds)

    def _written(self, written: _Written) -> None:
        turns, gone = written
        self._forget(turns)
        if gone:
            self._counters.add("sounds.dropped", gone)

    def _forget(self, turns: list[TurnRecord]) -> None:
        """Hold the sound of turns no longer."""
        for turn in turns:
            self._held -= len(self._sounds.pop(turn.id, b""))

    def _dropped(self, turns: list[TurnRecord]) -> None:
        self._forget(turns)
        self._counters.add("conversations.rejected", len(turns))

    async def _prune(self) -> None:
        while True:
            self._changed.clear()
            try:
                await self.prune()
            except Unavailable:
                await self._link.usable()
                continue
            except Rejected:
                pass  # it is in the log, and would be rejected again
            with suppress(TimeoutError):
                async with asyncio.timeout(PRUNE_S):
                    await self._changed.wait()

    async def prune(self) -> None:
        """Remove turns that are old, and sound that is, by the profiles as they are now.

        Raises Unavailable, Rejected.
        """
        now = now_ms()
        known = await self._link.call(
            Operation(lambda database: ConversationRepository(database).prune(now - self._keep_ms))
        )
        before = {
            row["device_id"]: now - DAY_MS * days
            for row in known
            if (days := self._sound_days(_device(row))) is not None
        }
        if before:
            await self._link.call(
                Operation(lambda database: ConversationRepository(database).prune_sounds(before))
            )


def _device(row: Row) -> Device:
    client_id, board, firmware = (row[name] or "" for name in ("client_id", "board", "firmware"))
    return Device(row["device_id"], client_id=client_id, board=board, firmware=firmware)

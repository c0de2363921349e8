"""Puts turns on record: a sink of the event bus that writes behind."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict
from typing import Final

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
from vixio.core.wall_clock import now_ms
from vixio.data.conversations.records import MAX_TOOL_WORDS, MAX_TOOLS, MAX_WORDS, TurnRecord
from vixio.data.conversations.repository import ConversationRepository
from vixio.data.database.database import Database
from vixio.data.database.link import Link
from vixio.data.database.write_behind import WriteBehind

MAX_OPEN: Final = 10_000
"""Turns that have begun and not ended; then the oldest is dropped."""

MAX_KEPT: Final = 10_000
"""Turns that wait for a database that is away; then the oldest is dropped, and counted."""

DAY_MS: Final = 86_400_000
PRUNE_MS: Final = 3_600_000
"""How often old turns are looked for."""


class TurnRecorder:
    """``keep_days``: turns that are older are removed. ``profile_of``: the name of a device's
    profile, or nothing."""

    def __init__(
        self,
        link: Link[Database],
        counters: Counters,
        keep_days: float,
        profile_of: Callable[[str], str],
    ) -> None:
        self._counters = counters
        self._profile_of = profile_of
        self._keep_ms = round(keep_days * DAY_MS)
        self._pruned_at = 0
        self._open: OrderedDict[tuple[str, int], TurnRecord] = OrderedDict()
        self._behind: WriteBehind[list[TurnRecord], None] = WriteBehind(
            link,
            list,
            self._write,
            singly=lambda turns: [[turn] for turn in turns],
            dropped=lambda turns: counters.add("conversations.rejected", len(turns)),
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
                    del self._open[key]  # an utterance that became no turn
            case _:
                pass

    async def caught_up(self) -> None:
        """Have the turns that have ended written before the caller reads or erases them."""
        await self._behind.caught_up()

    async def close(self) -> None:
        """Write what is left, for a bounded time. Idempotent."""
        if not await self._behind.close():
            self._counters.add("conversations.lost", sum(map(len, self._behind.unwritten)))

    def _at(self, event: Event, turn: int) -> TurnRecord:
        key = (event.session_id, turn)
        record = self._open.get(key)
        if record is None:
            record = TurnRecord(event.device_id, event.session_id, turn, now_ms())
            self._open[key] = record
            if len(self._open) > MAX_OPEN:
                self._open.popitem(last=False)
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
            del batch[0]
            self._counters.add("conversations.lost")
        self._behind.touch()

    async def _write(self, turns: list[TurnRecord], database: Database) -> None:
        now, before = now_ms(), 0
        if now - self._pruned_at > PRUNE_MS:
            self._pruned_at, before = now, now - self._keep_ms
        await ConversationRepository(database).write(turns, before=before)

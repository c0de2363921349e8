"""The tool calls of one reply: in its timeline, and as events."""

from __future__ import annotations

from vixio.core.chunk import ToolCalled, ToolReturned
from vixio.core.clock import now
from vixio.core.metrics import ToolTiming, TurnTimeline
from vixio.core.session.emitter import Emitter
from vixio.core.session.events import ToolEnded, ToolStarted


class ToolRecord:
    """Notes calls and their results."""

    def __init__(self, timeline: TurnTimeline, emit: Emitter) -> None:
        self._timeline = timeline
        self._emit = emit
        self._calls: dict[str, ToolCalled] = {}

    def note(self, chunk: ToolCalled | ToolReturned) -> None:
        """Take note of a call or of its end."""
        turn_id, call_id = self._timeline.turn_id, chunk.call_id
        if isinstance(chunk, ToolCalled):
            self._timeline.called_tools = True
            self._calls[call_id] = chunk
            self._emit(ToolStarted, turn_id, call_id, chunk.name, chunk.arguments)
            return
        call = self._calls.get(call_id) or ToolCalled(turn_id, call_id, "?", "")
        outcome = chunk.success, chunk.seconds
        self._timeline.tools.append(
            ToolTiming(call.name, chunk.seconds, chunk.success, call.source, now())
        )
        self._emit(ToolEnded, turn_id, call_id, call.name, chunk.output, *outcome)

"""What one reply leaves behind: its events, its tool calls, and the end of its timeline."""

from __future__ import annotations

from typing import Final

from vixio.core.chunk import ToolCalled, ToolReturned
from vixio.core.clock import now
from vixio.core.metrics import ToolTiming, TurnTimeline
from vixio.core.pacer import Pacer
from vixio.core.session.emitter import Emitter
from vixio.core.session.events import (
    Failure,
    SpeechInterrupted,
    SpeechPlayed,
    SpeechSentence,
    SpeechStarted,
    ToolEnded,
    ToolStarted,
)


class ReplyRecord:
    """Publishes what becomes of a reply. The pacer reports each sentence to it."""

    def __init__(self, timeline: TurnTimeline, emit: Emitter, pacer: Pacer) -> None:
        self._timeline = timeline
        self._turn = timeline.turn_id
        self._emit = emit
        self._pacer = pacer
        pacer.on_sentence = self._sentence

    def started(self) -> None:
        """The assistant begins to speak."""
        self._emit(SpeechStarted, self._turn)

    def played(self) -> None:
        """All of it was played."""
        self._emit(SpeechPlayed, self._turn, self._pacer.heard_text())

    def interrupted(self, heard: str, cause: str) -> None:
        """It was cut; ``heard``: the text that was played before."""
        self._emit(SpeechInterrupted, self._turn, heard, cause)

    def failed(self, stage: str, reason: str, detail: str, *, partial: bool = False) -> None:
        """It could not be made, or with ``partial`` one of its sentences."""
        self._emit(Failure, self._turn, stage, reason, detail, partial)

    def ended(self, outcome: str) -> None:
        """Note in the timeline how it ended, and when it was heard."""
        timeline, pacer = self._timeline, self._pacer
        timeline.outcome = outcome
        timeline.heard_ms = pacer.heard_ms()
        if pacer.started_at is not None:
            timeline.mark("speech_start", pacer.started_at)
        if pacer.first_frame_at is not None:
            timeline.mark("first_frame", pacer.first_frame_at)
            timeline.held = pacer.held

    def _sentence(self, text: str, kept: bool) -> None:
        self._emit(SpeechSentence, self._turn, text, not kept)


NOT_FAILED: Final = frozenset({"confirmation_required", "not_found"})
"""Types of errors by which a tool has done its part: it asks first, or there is no such thing."""


class ToolRecord:
    """Notes calls and their results, spoken and typed turns alike."""

    def __init__(self, timeline: TurnTimeline, emit: Emitter) -> None:
        self._timeline = timeline
        self._emit = emit
        self._calls: dict[str, ToolCalled] = {}

    def note(self, chunk: ToolCalled | ToolReturned) -> None:
        """Take note of a call or of its end."""
        turn_id, call_id = self._timeline.turn_id, chunk.call_id
        if isinstance(chunk, ToolCalled):
            self._timeline.called_tools = True
            self._timeline.tool_failed = False  # of those before it the agent makes the best
            self._calls[call_id] = chunk
            self._emit(ToolStarted, turn_id, call_id, chunk.name, chunk.arguments)
            return
        call = self._calls.get(call_id) or ToolCalled(turn_id, call_id, "?", "")
        outcome = chunk.success, chunk.seconds, chunk.error_type
        self._timeline.tools.append(
            ToolTiming(call.name, chunk.seconds, chunk.success, call.source, now())
        )
        # One without a source is not found because the model has invented it.
        done = chunk.success or (call.source and chunk.error_type in NOT_FAILED)
        self._timeline.tool_failed |= not done
        self._emit(ToolEnded, turn_id, call_id, call.name, chunk.output, *outcome)

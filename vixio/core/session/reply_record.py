"""What one reply leaves behind: its events, and the end of its timeline."""

from __future__ import annotations

from vixio.core.metrics import TurnTimeline
from vixio.core.pacer import Pacer
from vixio.core.session.emitter import Emitter
from vixio.core.session.events import (
    Failure,
    SpeechInterrupted,
    SpeechPlayed,
    SpeechSentence,
    SpeechStarted,
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

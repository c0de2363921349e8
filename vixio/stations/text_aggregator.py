"""Makes the user's turn from recognised or typed words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vixio.core.chunk import (
    Chunk,
    TextInput,
    Transcript,
    TurnDropped,
    TurnEnded,
    TurnFailed,
    UserTurn,
)
from vixio.core.station import ListeningStation

MIN_SPEECH_MS = 400
"""Voice of this length without a word is speech that was not understood; less is a noise."""


class TextAggregatorStation(ListeningStation):
    """Transcript or TextInput in, UserTurn out.

    Speech without words makes a turn that is not understood; a noise makes none.
    """

    name = "text_aggregator"

    def __init__(self) -> None:
        self._speech_ms: dict[int, int] = {}

    async def feed(self, chunk: Chunk, now: float) -> Sequence[Chunk]:
        """Pass ``chunk`` on with the UserTurn that it completes."""
        match chunk:
            case TurnEnded(turn_id=turn_id, speech_ms=speech_ms):
                self._speech_ms[turn_id] = speech_ms
                return (chunk,)
            case TurnDropped(turn_id=turn_id) | TurnFailed(turn_id=turn_id):
                self._speech_ms.pop(turn_id, None)
                return (chunk,)
            case Transcript(turn_id=turn_id, text=text):
                speech_ms = self._speech_ms.pop(turn_id, 0)
                if not text and not chunk.rejected:
                    self.context.counters.add("turn.empty")
                    if speech_ms < MIN_SPEECH_MS:
                        return (TurnDropped(turn_id),)
                    chunk = replace(chunk, rejected=True)
                understood = not chunk.rejected
                turn = UserTurn(
                    turn_id,
                    text,
                    understood,
                    language=chunk.language,
                    emotion=chunk.emotion,
                    alternatives=chunk.alternatives,
                )
                return (chunk, turn)
            case TextInput(text=text, wake_word=False):
                words = " ".join(text.split())
                if not words:
                    return ()
                turn_id = self.context.history.next_turn_id()
                timeline = self.context.timeline(turn_id)
                timeline.mark("turn_end", now)
                timeline.mark("transcript", now)
                return (Transcript(turn_id, words), UserTurn(turn_id, words))
            case _:
                return (chunk,)

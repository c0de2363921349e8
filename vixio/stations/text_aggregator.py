"""Makes the user's turn out of what was recognised or typed."""

from __future__ import annotations

from collections.abc import Sequence

from vixio.core.chunk import Chunk, TextInput, Transcript, TurnDropped, UserTurn
from vixio.core.station import ListeningStation


class TextAggregatorStation(ListeningStation):
    """Transcript or TextInput in, UserTurn out. A transcript without words makes no turn."""

    name = "text_aggregator"

    async def feed(self, chunk: Chunk, now: float) -> Sequence[Chunk]:
        """Add the UserTurn that ``chunk`` completes."""
        match chunk:
            case Transcript(turn_id=turn_id, text=text, rejected=rejected):
                if not text and not rejected:
                    self.context.counters.add("turn.empty")
                    return (TurnDropped(turn_id),)
                turn = UserTurn(
                    turn_id, text, not rejected, language=chunk.language, emotion=chunk.emotion
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

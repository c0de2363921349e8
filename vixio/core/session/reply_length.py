"""How long a reply may speak."""

from __future__ import annotations

from vixio.core.audio import pcm_seconds
from vixio.core.chunk import AudioOut, Chunk, Sentence


class ReplyLength:
    """The speech of one reply, in seconds. ``limit`` 0: none.

    A reply ends between two sentences, so it is longer than the limit by a sentence at most.
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._spoken = 0.0

    def reached_before(self, chunk: Chunk) -> bool:
        """Take the reply's next chunk; return whether it belongs to the reply no more."""
        if isinstance(chunk, AudioOut):
            self._spoken += pcm_seconds(chunk.pcm, chunk.sample_rate)
        return isinstance(chunk, Sentence) and 0 < self._limit <= self._spoken

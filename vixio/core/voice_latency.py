"""How soon the voice speaks, so that a device can be prepared for it in time."""

from __future__ import annotations

from collections import deque

KEPT = 5


class VoiceLatency:
    """Seconds from a sentence to its first audio, learned from the last replies of a session."""

    def __init__(self) -> None:
        self._last: deque[float] = deque(maxlen=KEPT)

    def note(self, seconds: float) -> None:
        """Add the latency of a reply's first sentence."""
        self._last.append(seconds)

    @property
    def least(self) -> float | None:
        """The shortest of the last few; None before the first reply."""
        return min(self._last, default=None)

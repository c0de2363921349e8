"""How soon speech follows the words, so that a device can be prepared for it in time."""

from __future__ import annotations

KEPT = 5


class VoiceLatency:
    """Seconds from a reply's first words to its first audio, in the last replies of a session."""

    def __init__(self) -> None:
        self._last: tuple[float, ...] = ()

    def note(self, seconds: float) -> None:
        """Add the latency of a reply."""
        self._last = (*self._last[1 - KEPT :], seconds)

    @property
    def least(self) -> float | None:
        """The shortest of the last few; None before the first reply."""
        return min(self._last, default=None)

"""The wall clock: what is due at a time of day follows it, also when it is set.

Servers that share a database take the time from it: what one has written, a token's expiry or the
time of a reminder, another one compares with its own clock, which may be hours off. Between two
readings of the database's clock time goes on as on a clock that nobody sets.
"""

from __future__ import annotations

import time
from datetime import datetime, tzinfo

from vixio.core.clock import awake


class WallClock:
    """That of the machine, or of a database after :meth:`set`. May be used from any thread."""

    def __init__(self) -> None:
        self._ahead: float | None = None
        """What the time has ahead of :func:`awake`, in seconds; None: the machine's is right."""

    def set(self, at: float) -> None:
        """Set the clock to ``at``, seconds since 1970."""
        self._ahead = at - awake()

    def now(self) -> float:
        """Return the time in seconds since 1970."""
        ahead = self._ahead
        return time.time() if ahead is None else awake() + ahead


CLOCK = WallClock()
"""That of the process."""


def now_s() -> float:
    """Return the time in seconds since 1970."""
    return CLOCK.now()


def now_ms() -> int:
    """Return the time in milliseconds since 1970."""
    return round(CLOCK.now() * 1000)


def date_time(zone: tzinfo | None) -> datetime:
    """Return date and time in a zone; None: that of the machine."""
    return datetime.fromtimestamp(CLOCK.now(), zone)

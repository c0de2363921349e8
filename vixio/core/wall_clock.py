"""The wall clock: what is due at a time of day follows it, also when it is set."""

from __future__ import annotations

import time


def now_ms() -> int:
    """Return the time in milliseconds since 1970."""
    return round(time.time() * 1000)

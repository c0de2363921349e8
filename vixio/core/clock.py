"""Time. The event loop is the clock, so a test that runs on a virtual-time loop owns all of it.

Every deadline in Vixio is a reading of :func:`now` plus seconds; nothing reads the wall clock to
measure a duration, so a system clock that steps cannot end a turn.
"""

from __future__ import annotations

import asyncio


def now() -> float:
    """Seconds on the running loop's monotonic clock; only differences mean something."""
    return asyncio.get_running_loop().time()

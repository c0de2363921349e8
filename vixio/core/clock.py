"""Time. The event loop is the clock, so a test that runs on a virtual-time loop owns all of it.

Every deadline in Vixio is a reading of :func:`now` plus seconds; nothing reads the wall clock to
measure a duration, so a system clock that steps cannot end a turn.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

_AWAKE: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def now() -> float:
    """Seconds on the running loop's monotonic clock; only differences mean something."""
    return asyncio.get_running_loop().time()


def awake() -> float:
    """Seconds of a clock that does not stop while the machine sleeps, where there is such a clock.

    Any thread may read it; only differences mean something.
    """
    return time.clock_gettime(_AWAKE)

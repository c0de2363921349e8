"""Decides which windows run on the event loop instead of in the batch thread.

With few devices a batch is one device's packet: it saves nothing, and handing it over costs two
wake-ups, which on a core that sleeps between packets are as much as the rest of the session's work.
With many devices the thread's batches cost half as much per window and leave the loop free.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Final

MAX_WINDOWS: Final = 4
"""Of a device in one call: an Opus packet of 120 ms in windows of 32 ms. More is a backlog."""

FEW_JOBS: Final = 12
"""With fewer jobs within ``PERIOD_S``, so with fewer devices that listen, they run on the loop.
Batches in the thread are cheaper from about 20 devices on (docs/engineering/performance.md); jobs
that come together hold the loop for their sum, which this limit keeps to some milliseconds."""

PERIOD_S: Final = 0.06
"""A device sends a packet every 60 ms."""

LONGEST_S: Final = 0.004
"""A direct run that took more processor time sends jobs to the thread ..."""

REST_S: Final = 5.0
"""... for this time: the machine is too slow to hold up its event loop. Time in which the loop's
thread had no core does not count: the batch thread would have waited as well, twice."""


class DirectRuns:
    """The rate of recent jobs and their cost. Times are readings of one monotonic clock (s)."""

    __slots__ = ("_recent", "_rests_until")

    def __init__(self) -> None:
        self._recent: deque[float] = deque((-math.inf,) * FEW_JOBS, maxlen=FEW_JOBS)
        self._rests_until = -math.inf

    def allows(self, at: float, windows: int) -> bool:
        """Count a job of so many windows; return whether it may run on the loop."""
        recent = self._recent
        few = at - recent[0] >= PERIOD_S
        recent.append(at)
        return few and windows <= MAX_WINDOWS and at >= self._rests_until

    def took(self, seconds: float, at: float) -> None:
        """Note the processor time of a direct run that ended ``at``."""
        if seconds > LONGEST_S:
            self._rests_until = at + REST_S

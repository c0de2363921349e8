"""Is the process too late to take on more? Judged by how late the event loop runs a timer."""

from __future__ import annotations

import asyncio
from collections import deque

INTERVAL_S = 0.05
WINDOW_S = 2.0
MIN_SAMPLES = 4
"""Fewer say nothing yet; a loop that is 500 ms late each time still gives so many."""

CALM = 0.5
"""Devices are let in again when the lag has fallen to this share of the limit: without a gap
between the two, each device let in would shut the door on the next."""


class LoopLag:
    """Samples the lag of the running loop with one timer; ``limit`` in seconds, 0: never too late.

    One late sample, whatever its length (a garbage collection, a slow import), never makes it busy.
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._samples: deque[tuple[float, float]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        self.busy = False
        self.p95 = 0.0
        """Of the last two seconds, in seconds."""

    def start(self) -> None:
        """Begin to sample the running loop. Idempotent."""
        if self._timer is None:
            self._wait(asyncio.get_running_loop())

    def stop(self) -> None:
        """Sample no more. Idempotent."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.forget()

    def forget(self) -> None:
        """Drop all samples: what made the loop late is over."""
        self._samples.clear()
        self.busy, self.p95 = False, 0.0

    def add(self, at: float, lag: float) -> None:
        """Take a sample that is ``lag`` seconds late, at ``at`` (of the loop's clock)."""
        samples = self._samples
        samples.append((at, lag))
        while samples[0][0] < at - WINDOW_S:
            samples.popleft()
        lags = sorted(late for _, late in samples)
        self.p95 = lags[int(0.95 * (len(lags) - 1))]
        if not self._limit or len(lags) < MIN_SAMPLES:
            return
        self.busy = self.p95 > self._limit * (CALM if self.busy else 1.0)

    def _wait(self, loop: asyncio.AbstractEventLoop) -> None:
        self._due = loop.time() + INTERVAL_S
        self._timer = loop.call_at(self._due, self._tick, loop)

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        at = loop.time()
        self.add(at, max(0.0, at - self._due))
        self._wait(loop)

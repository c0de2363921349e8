"""Refuses new devices while the event loop is overloaded.

The rule: the process is overloaded while its event loop runs timers late, in the median of ten
seconds, by its own work. New devices are refused until the median has fallen to half of the limit;
for five minutes after that, one device a second is admitted. Connected devices are not touched.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections import deque
from collections.abc import Callable

INTERVAL_S = 0.05
WINDOW_S = 10.0
"""A storm of connects is over before it is half of this, and half of the samples is the median."""

MIN_SAMPLES = 5
"""One hiccup, however long, leaves fewer or is outnumbered. A loop that is 2 s late each time gives
as many."""

OWN_WORK = 0.4
"""Cores that the process itself must have used in the window. Otherwise other work on the machine
delays it, and refusing devices would not help."""

CALM = 0.5
"""Of the limit, at which an overload ends. Without a gap between the two, each admitted device
would cause the next refusal."""

RECOVERY_S = 300.0
PER_SECOND = 1.0
"""Devices admitted after an overload, for ``RECOVERY_S``. An overload shows ten seconds late:
admitting all waiting devices at once would exceed the limit by far before it is noticed."""


class Overload:
    """Samples the lag of the running loop with one timer.

    ``limit`` in seconds; 0: no device is ever refused. ``clock``: monotonic, in seconds.
    """

    def __init__(self, limit: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._clock = clock
        self._samples: deque[tuple[float, float, float]] = deque()
        self._began: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        self._recovered_at = float("-inf")
        self._next_at = float("-inf")
        self.active = False
        """Whether the process is overloaded."""
        self._full = False
        """Whether the window is full."""

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
        """Drop all samples and the last overload: what made the loop late is over."""
        self._samples.clear()
        self._began = None
        self._recovered_at = self._next_at = float("-inf")
        self.active = self._full = False

    @property
    def lag(self) -> float:
        """The median of the window, in seconds; 0 before the window is full."""
        return statistics.median(late for _, late, _ in self._samples) if self._full else 0.0

    def admit(self) -> bool:
        """Whether one more device may be admitted; it is counted."""
        if self.active:
            return False
        at = self._clock()
        if at < self._recovered_at:
            if at < self._next_at:
                return False
            self._next_at = at + 1 / PER_SECOND
        return True

    def add(self, at: float, lag: float, worked: float) -> None:
        """Take a sample: at ``at`` the loop was ``lag`` seconds late, and the process had used
        ``worked`` seconds of processor time.
        """
        samples = self._samples
        samples.append((at, lag, worked))
        if self._began is None:
            self._began = at
        while samples[0][0] < at - WINDOW_S:
            samples.popleft()
        if at - self._began < WINDOW_S or len(samples) < MIN_SAMPLES:
            return
        self._full = True
        first_at, _, first_worked = samples[0]
        by_own_work = worked - first_worked >= OWN_WORK * (at - first_at)
        limit = self._limit * (CALM if self.active else 1.0)
        # The median last: it sorts the window, which an idle process is spared.
        self.active = self._limit > 0 and by_own_work and self.lag > limit
        if self.active:
            self._recovered_at = at + RECOVERY_S

    def _wait(self, loop: asyncio.AbstractEventLoop) -> None:
        self._due = loop.time() + INTERVAL_S
        self._timer = loop.call_at(self._due, self._tick, loop)

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        lag = max(0.0, loop.time() - self._due)
        self.add(self._clock(), lag, time.process_time())
        self._wait(loop)

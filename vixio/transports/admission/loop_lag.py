"""Is the process too late to take on more? Judged by how late the event loop runs a timer."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections import deque

INTERVAL_S = 0.05
WINDOW_S = 2.0
MIN_SAMPLES = 4
"""Fewer say nothing yet; a loop that is 500 ms late each time still gives so many."""

LASTING_WINDOW_S = 10.0
LASTING = 1 / 50
LASTING_SAMPLES = 50
"""A median of this share of the limit over the lasting window is too late as well. A loop with time
to spare runs half of its timers at once: three processes have a median of 0.9 ms with 600 devices
in conversation and 4 ms with 700, whom they answer in time, and 66 ms with 800, whom they do not
(``vixio bench load --mix talk``). A storm of connects is over before it is half of the window; one
long hiccup leaves fewer samples than this."""

OWN_WORK = 0.4
"""Of a core, so much the process itself must have worked in that window. Else what makes it late is
other work on the machine, and turning devices away would not make it less."""

CALM = 0.5
"""Devices are let in again when the lag has fallen to this share of the limit: without a gap
between the two, each device let in would shut the door on the next."""


class LoopLag:
    """Samples the lag of the running loop with one timer; ``limit`` in seconds, 0: never too late.

    One late sample, whatever its length (a garbage collection, a slow import), never makes it busy.
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._samples: deque[tuple[float, float, float]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        self._full = False
        """Do the samples fill the lasting window?"""
        self._late_now = self._late_long = False
        self.p95 = 0.0
        """Of the last two seconds, in seconds."""
        self.median = 0.0
        """Of the last ten seconds, in seconds; 0 before they are full."""
        self.late_at: float | None = None
        """When it was last late for long, of the loop's clock; None: never."""

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

    @property
    def busy(self) -> bool:
        """Whether the loop is too late now, or a little late for long."""
        return self._late_now or self._late_long

    def forget(self) -> None:
        """Drop all samples: what made the loop late is over."""
        self._samples.clear()
        self._full = False
        self._late_now = self._late_long = False
        self.p95 = self.median = 0.0
        self.late_at = None

    def add(self, at: float, lag: float, worked: float) -> None:
        """Take a sample that is ``lag`` seconds late, at ``at`` (of the loop's clock); the process
        has had ``worked`` seconds of processor time until then.
        """
        samples = self._samples
        samples.append((at, lag, worked))
        while samples[0][0] < at - LASTING_WINDOW_S:
            samples.popleft()
            self._full = True
        recent = sorted(late for then, late, _ in samples if then >= at - WINDOW_S)
        self.p95 = recent[int(0.95 * (len(recent) - 1))]
        if self._full and len(samples) >= LASTING_SAMPLES:
            self.median = statistics.median(late for _, late, _ in samples)
        if not self._limit:
            return
        if len(recent) >= MIN_SAMPLES:
            self._late_now = self.p95 > self._limit * (CALM if self._late_now else 1.0)
        first_at, _, first_worked = samples[0]
        works = worked - first_worked >= OWN_WORK * (at - first_at)
        lasting = self._limit * LASTING
        self._late_long = works and self.median > lasting * (CALM if self._late_long else 1.0)
        if self._late_long:
            self.late_at = at

    def _wait(self, loop: asyncio.AbstractEventLoop) -> None:
        self._due = loop.time() + INTERVAL_S
        self._timer = loop.call_at(self._due, self._tick, loop)

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        at = loop.time()
        self.add(at, max(0.0, at - self._due), time.process_time())
        self._wait(loop)

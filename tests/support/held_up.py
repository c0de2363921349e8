"""Scheduling delay of processes: time they were runnable but not running.

Linux counts for each thread how long it was ready and had no processor (the second number of
``/proc/PID/task/TID/schedstat``, Documentation/scheduler/sched-stats.rst). A machine with other
work makes this large, a process that has too much work of its own does not. Where there is no such
file nothing was ever held up.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

STEP_S: Final = 0.02
"""Between two looks; one takes 0.2 ms for thirty threads."""

KEPT: Final = 30_000
"""Looks that are remembered: ten minutes."""


class HeldUp:
    """Watches processes, by their ids. Times are readings of the loop's clock, in seconds.

    ``all_threads``: not only the first of each process, on which its event loop runs.
    """

    def __init__(self, *pids: int, all_threads: bool = False) -> None:
        self._pids = pids
        self._all_threads = all_threads
        self._waited: dict[str, int] = {}
        self._looks: deque[tuple[float, float]] = deque(maxlen=KEPT)

    async def run(self) -> None:
        """Watch until cancelled."""
        loop = asyncio.get_running_loop()
        self._waited = self._now()
        while True:
            await asyncio.sleep(STEP_S)
            self.look(loop.time())

    def look(self, at: float) -> None:
        """Note what was waited since the last look, by all that are watched together."""
        waited = self._now()
        new = sum(
            max(0, nanoseconds - self._waited.get(thread, nanoseconds))
            for thread, nanoseconds in waited.items()
        )
        self._waited = waited
        self.add(at, new / 1e9)

    def add(self, at: float, seconds: float) -> None:
        """Note that in the time up to ``at`` so much was waited."""
        if seconds > 0:
            self._looks.append((at, seconds))

    def in_all(self, since: float, until: float) -> float:
        """Return the seconds waited in a stretch of time."""
        return sum(seconds for _, seconds in self._within(since, until))

    def at_worst(self, since: float, until: float, window: float = 0.1) -> float:
        """Return the most that was waited in any ``window`` seconds of a stretch of time."""
        worst, total = 0.0, 0.0
        last: deque[tuple[float, float]] = deque()
        for at, seconds in self._within(since, until):
            last.append((at, seconds))
            total += seconds
            while last[0][0] < at - window:
                total -= last.popleft()[1]
            worst = max(worst, total)
        return worst

    def _now(self) -> dict[str, int]:
        if self._all_threads:
            return dict(_waited(_threads(self._pids)))
        return dict(_waited(Path(f"/proc/{pid}/task/{pid}") for pid in self._pids))

    def _within(self, since: float, until: float) -> Iterator[tuple[float, float]]:
        # The look that follows the end tells of its last moments.
        return (look for look in self._looks if since <= look[0] <= until + STEP_S)


def _threads(pids: Iterable[int]) -> Iterator[Path]:
    for pid in pids:
        try:
            yield from list(Path(f"/proc/{pid}/task").iterdir())
        except OSError:
            continue  # the process has ended, or there is no such file system


def _waited(threads: Iterable[Path]) -> Iterator[tuple[str, int]]:
    for thread in threads:
        nanoseconds = waited_ns(thread)
        if nanoseconds is not None:
            yield thread.name, nanoseconds


def waited_ns(thread: Path) -> int | None:
    """Return what a thread (``/proc/PID/task/TID``) has waited in its life, None if that is not
    known."""
    try:
        with (thread / "schedstat").open("rb", buffering=0) as file:
            return int(file.read(100).split()[1])
    except (OSError, IndexError):
        return None

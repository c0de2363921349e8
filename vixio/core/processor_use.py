"""What this process uses of the time of the processor that it may use.

Linux says more than others (proc(5), ``children`` and ``stat``; Documentation/scheduler/
sched-stats.rst, ``schedstat``). Elsewhere the time of the process itself counts alone.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from vixio.core.cores import own_time

_CHILDREN_EVERY: Final = 8
"""Looks between two at which processes have been started."""

_TICK: Final = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class _Look:
    at: float
    loop: float
    """Seconds for which the event loop's thread ran, or could have run and had no core."""
    all: float
    """Seconds of all threads, and of the processes that this one has started."""


class ProcessorUse:
    """Reads, in the event loop's thread, what was used since the last look."""

    def __init__(self) -> None:
        self._children: dict[int, float] = {}
        self._of_children = 0.0
        self._looks = 0
        self._last = self._look()

    def since(self) -> tuple[float, float]:
        """Return the seconds since the last look, and what was used of them: 1 a second is all.

        That of the event loop or that of all cores, whichever has less to spare.
        """
        last, now = self._last, self._look()
        self._last = now
        seconds = now.at - last.at
        everything = now.all - last.all
        return seconds, max(now.loop - last.loop, everything / own_time())

    def _look(self) -> _Look:
        all_threads = time.process_time() + self._children_time()
        return _Look(time.monotonic(), sum(of_thread()), all_threads)

    def _children_time(self) -> float:
        """Return the seconds of the processes that this one has started, since it looks at them."""
        if self._looks % _CHILDREN_EVERY == 0:
            pids = children_of(os.getpid())
            self._children = {pid: self._children.get(pid, _time_of(pid)) for pid in pids}
        self._looks += 1
        for pid, before in self._children.items():
            now = max(before, _time_of(pid))
            self._of_children += now - before
            self._children[pid] = now
        return self._of_children


def of_thread() -> tuple[float, float]:
    """Return the seconds that the calling thread has run, and those that it waited for a core."""
    try:
        ran, waited, _ = Path("/proc/thread-self/schedstat").read_bytes().split()
    except (OSError, ValueError):
        return time.thread_time(), 0.0
    return int(ran) / 1e9, int(waited) / 1e9


def children_of(pid: int) -> list[int]:
    """Return the processes that ``pid`` has started and that run; none where it cannot be read."""
    found: list[int] = []
    with suppress(OSError):  # a process that ends while it is listed
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):  # a thread that has ended
                found.extend(map(int, (task / "children").read_bytes().split()))
    return found


def _time_of(pid: int) -> float:
    """Return the seconds that a process has used; 0 if it is over."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) * _TICK
    except (OSError, ValueError, IndexError):
        return 0.0

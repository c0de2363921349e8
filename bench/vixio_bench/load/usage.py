"""What a process uses: processor time, memory, threads, descriptors; and how late its loop runs."""

from __future__ import annotations

import asyncio
import os
import resource
import sys
import threading
import time
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from vixio.core.tasks import cancel_and_wait

LAG_STEP_S: Final = 0.02
"""How often the loop's lateness is looked at; 50 looks cost 0.15 % of a core."""


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which ``share`` (0…1) of ``values`` lie (nearest rank); 0 for none."""
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@dataclass(frozen=True, slots=True)
class Spread:
    """A distribution, in the unit of its values."""

    count: int
    p50: float
    p95: float
    p99: float
    max: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """Sum up ``values``."""
        ordered = sorted(values)
        if not ordered:
            return cls(0, 0.0, 0.0, 0.0, 0.0)
        last = len(ordered) - 1

        def at(share: float) -> float:
            return round(ordered[min(last, int(share * len(ordered)))], 3)

        return cls(len(ordered), at(0.5), at(0.95), at(0.99), round(ordered[-1], 3))


class LoopLag:
    """Wakes by the clock and notes, in milliseconds, how much too late."""

    def __init__(self) -> None:
        self.lags = array("f")
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look."""
        self._task = asyncio.create_task(self._look())

    def reset(self) -> None:
        """Forget what was seen."""
        self.lags = array("f")

    async def stop(self) -> None:
        """Look no more."""
        await cancel_and_wait(self._task)

    async def _look(self) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            due = clock() + LAG_STEP_S
            await asyncio.sleep(LAG_STEP_S)
            self.lags.append((clock() - due) * 1000)


@dataclass(frozen=True, slots=True)
class Usage:
    """One look at this process."""

    at: float
    """Seconds, monotonic."""
    cpu: float
    """Seconds of processor time, all threads."""
    rss_kb: int
    threads: int
    descriptors: int
    tasks: int


def look() -> Usage:
    """Look at this process; call it from the event loop."""
    return Usage(
        time.monotonic(),
        time.process_time(),
        resident_kb(os.getpid()),
        _threads(),
        _descriptors(),
        len(asyncio.all_tasks()),
    )


def cpu_by_thread() -> dict[str, float]:
    """Return the processor time (s) of each Python thread by its name; empty without /proc."""
    ticks = os.sysconf("SC_CLK_TCK")
    found: dict[str, float] = {}
    for thread in threading.enumerate():
        try:
            stat = Path(f"/proc/self/task/{thread.native_id}/stat").read_text()
        except FileNotFoundError:
            continue
        user, system = stat.rpartition(")")[2].split()[11:13]
        found[thread.name] = found.get(thread.name, 0.0) + (int(user) + int(system)) / ticks
    return found


def machine_busy() -> float:
    """Return the seconds of processor time that all processes of the machine have had so far.

    0 where there is no /proc.
    """
    try:
        fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    except FileNotFoundError:
        return 0.0
    user, nice, system, _idle, _iowait, irq, softirq, steal = (int(field) for field in fields[:8])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def resident_kb(pid: int) -> int:
    """Return a process's resident memory (KB), 0 if it is gone; its peak without /proc."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except FileNotFoundError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss if pid == os.getpid() else 0
        return peak // 1024 if sys.platform == "darwin" else peak
    except (ProcessLookupError, IndexError):
        return 0
    return pages * resource.getpagesize() // 1024


def cpu_seconds(pid: int) -> float:
    """Return the processor time (s) of a process, all threads; 0 if it is gone, or no /proc."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def children_kb(pid: int) -> int:
    """Return the resident memory (KB) of all that ``pid`` has started, theirs included."""
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile
        if int(fields[1]) == pid:
            child = int(stat.parent.name)
            total += resident_kb(child) + children_kb(child)
    return total


def pin(cores: Sequence[int]) -> None:
    """Keep this process, and all threads it will start, to ``cores``; nothing where none."""
    if cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)


def _threads() -> int:
    try:
        return len(os.listdir("/proc/self/task"))  # noqa: PTH208 - names are all that is counted
    except FileNotFoundError:
        return threading.active_count()


def _descriptors() -> int:
    try:
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - as above
    except FileNotFoundError:
        return 0

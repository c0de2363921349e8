"""The load of a process over the last two hours: a sample every ten seconds, in memory.

The samples of all processes are taken at the same times of the wall clock, so they can be added up.
"""

from __future__ import annotations

import asyncio
import os
import time
from array import array
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from vixio.core.session.events import Event, Failure, TurnEnded, TurnStarted

INTERVAL_S: Final = 10
SAMPLES: Final = 2 * 3_600 // INTERVAL_S

COUNTS: Final = ("turns", "failures", "not_understood")
"""Of each interval."""
INTEGERS: Final = ("connected", *COUNTS, "rss_bytes")
REALS: Final = ("lag_ms", "cpu")
_STATM: Final = Path("/proc/self/statm")

NAMES: Final = (*INTEGERS, *REALS)


class Ring:
    """The last numbers of a series."""

    __slots__ = ("_numbers", "_written")

    def __init__(self, kind: str, size: int = SAMPLES) -> None:
        self._numbers: array[Any] = array(kind, bytes(array(kind).itemsize * size))
        self._written = 0

    def put(self, number: float) -> None:
        """Add a number; the oldest goes where the ring is full."""
        integer = self._numbers.typecode == "q"
        self._numbers[self._written % len(self._numbers)] = round(number) if integer else number
        self._written += 1

    def all(self) -> list[Any]:
        """Return the numbers, oldest first."""
        size = len(self._numbers)
        if self._written <= size:
            return self._numbers[: self._written].tolist()
        cut = self._written % size
        return [*self._numbers[cut:], *self._numbers[:cut]]


class LoadSeries:
    """The samples of one process. ``connected``: how many devices are; ``lag``: of the event loop
    now, in milliseconds. ``clock``: seconds since 1970."""

    def __init__(
        self,
        connected: Callable[[], int],
        lag: Callable[[], float],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._connected = connected
        self._lag = lag
        self._clock = clock
        self._counts = dict.fromkeys(COUNTS, 0)
        self._ticks = Ring("q")
        self._rings = {name: Ring("q" if name in INTEGERS else "d") for name in NAMES}
        self._cpu = time.process_time()
        self._at = time.monotonic()

    def __call__(self, event: Event) -> None:
        """Count an event of a session: a sink of the event bus."""
        match event:
            case TurnStarted():
                self._counts["turns"] += 1
            case Failure(partial=False):
                self._counts["failures"] += 1
            case TurnEnded(timeline=timeline):
                self._counts["failures"] += timeline.outcome == "tool_failed"
                self._counts["not_understood"] += timeline.outcome == "not_understood"
            case _:
                pass

    async def run(self) -> None:
        """Take samples until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            pause = INTERVAL_S - self._clock() % INTERVAL_S
            if pause < INTERVAL_S / 2:  # the last sleep ended a bit early
                pause += INTERVAL_S
            due = loop.time() + pause
            await asyncio.sleep(pause)
            late = (loop.time() - due) * 1000
            self.sample(late)

    def sample(self, late_ms: float = 0.0) -> None:
        """Take one sample. ``late_ms``: by how much it comes too late."""
        at, cpu = time.monotonic(), time.process_time()
        elapsed = at - self._at
        values: dict[str, float] = {
            "connected": self._connected(),
            **self._counts,
            "rss_bytes": resident_bytes(),
            "lag_ms": round(max(late_ms, self._lag()), 1),
            "cpu": round((cpu - self._cpu) / elapsed, 3) if elapsed > 0 else 0.0,
        }
        self._counts = dict.fromkeys(COUNTS, 0)
        self._cpu, self._at = cpu, at
        self._ticks.put(round(self._clock() / INTERVAL_S))
        for name, value in values.items():
            self._rings[name].put(value)

    def status(self) -> dict[str, Any]:
        """Return all samples, as JSON. ``ticks``: their times, in intervals since 1970."""
        return {
            "ticks": self._ticks.all(),
            **{name: ring.all() for name, ring in self._rings.items()},
        }


def added_up(parts: Sequence[Mapping[str, Any]], samples: int) -> dict[str, list[Any]]:
    """Return the last samples of several processes as one; of the loop's lag, the worst."""
    sums: dict[int, dict[str, float]] = {}
    for part in parts:
        for tick, sample in _by_tick(part).items():
            total = sums.setdefault(tick, dict.fromkeys(NAMES, 0))
            for name, value in sample.items():
                total[name] = max(total[name], value) if name == "lag_ms" else total[name] + value
    last = sorted(sums)[-samples:]
    return {
        "at": [tick * INTERVAL_S * 1000 for tick in last],
        **{name: [round(sums[tick][name]) for tick in last] for name in INTEGERS},
        **{name: [round(sums[tick][name], 3) for tick in last] for name in REALS},
    }


def _by_tick(part: Mapping[str, Any]) -> dict[int, dict[str, float]]:
    """Return the samples of a process by their time; two of one time, after the clock was set, are
    one."""
    found: dict[int, dict[str, float]] = {}
    for index, tick in enumerate(part.get("ticks", ())):
        # A node of an earlier version does not have all.
        sample = {name: part[name][index] if name in part else 0 for name in NAMES}
        if (before := found.get(int(tick))) is not None:
            for name in COUNTS:
                sample[name] += before[name]
        found[int(tick)] = sample
    return found


def resident_bytes() -> int:
    """Return the memory of this process; 0 where the system has no /proc (proc(5), statm)."""
    try:
        return int(_STATM.read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0

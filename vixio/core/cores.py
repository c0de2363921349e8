"""The number of processor cores for this process, if several processes share them."""

from __future__ import annotations

import math
import os
from functools import cache

from vixio.core.control_group import cpu_limit

_sharing = 1
_cpu_limit = cache(cpu_limit)


def share_cores(processes: int) -> None:
    """Note that ``processes`` processes of this server, this one among them, share the cores."""
    global _sharing  # noqa: PLW0603 - a fact about the process, known once, at its start
    _sharing = max(1, processes)


def processor_time() -> float:
    """Return how many cores' time this process may use: 1.5 in a container limited to that."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    limit = _cpu_limit()
    return min(allowed or 1, math.inf if limit is None else limit)


def usable_cores() -> int:
    """Return how many cores this process may run on at a time."""
    return max(1, math.ceil(processor_time()))


def own_cores() -> int:
    """Return this process's share, rounded down, at least 1: for steady work."""
    return max(1, usable_cores() // _sharing)


def own_time() -> float:
    """Return this process's share of the cores' time, a fraction too."""
    return processor_time() / _sharing


def own_threads() -> int:
    """Return this process's share, rounded up: for work that comes now and then."""
    return -(-usable_cores() // _sharing)

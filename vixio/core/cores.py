"""The number of processor cores for this process, if several processes share them."""

from __future__ import annotations

import os

_sharing = 1


def share_cores(processes: int) -> None:
    """Note that ``processes`` processes of this server, this one among them, share the cores."""
    global _sharing  # noqa: PLW0603 - a fact about the process, known once, at its start
    _sharing = max(1, processes)


def usable_cores() -> int:
    """Return how many cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def own_cores() -> int:
    """Return this process's share, rounded down, at least 1: for steady work."""
    return max(1, usable_cores() // _sharing)


def own_threads() -> int:
    """Return this process's share, rounded up: for work that comes now and then."""
    return -(-usable_cores() // _sharing)

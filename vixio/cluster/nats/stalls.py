"""Detects stalls of this process: it was stopped, swapped out, or its event loop was blocked.

What it holds may have passed to another node meanwhile. The clock also counts the time in which the
machine slept, where the system has such a clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from vixio.core.clock import awake

STALL_S: Final = 1.5
"""A process that stood still for so long trusts no lease until it has looked again. Less than
``RELEASE_S``, after which the next holder goes on without an answer."""

_BEAT_S: Final = 0.25


class StallDetector:
    """Detects stalls of the event loop. ``stalled``: called with its seconds after each."""

    def __init__(self, stalled: Callable[[float], None]) -> None:
        self._stalled = stalled
        self._last = awake()

    @property
    def fresh(self) -> bool:
        """Whether the process has not stood still since it last looked."""
        return awake() - self._last < STALL_S

    async def run(self) -> None:
        """Beat until it is cancelled."""
        self._last = awake()
        while True:
            await asyncio.sleep(_BEAT_S)
            gap = awake() - self._last
            if gap >= STALL_S:
                self._stalled(gap)
            self._last = awake()

"""Virtual time: an hour of conversation in seconds, and the same one each time.

Vixio reads time from its event loop alone (:mod:`vixio.core.clock`), so a loop whose clock is
virtual owns all of it, asyncio's own timeouts and sleeps included. Whenever nothing is ready to
run, the clock jumps to the next deadline. Threads and sockets live in real time: do not mix.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop that never waits. ``time()`` begins at 0."""

    def __init__(self) -> None:
        self._virtual_now = 0.0
        super().__init__(_NeverWaiting(self))

    def time(self) -> float:
        """Return the virtual seconds since the loop was made."""
        return self._virtual_now

    def advance(self, seconds: float) -> None:
        """Move the clock on; the loop itself does this when nothing is ready."""
        self._virtual_now += seconds


class _NeverWaiting(selectors.DefaultSelector):
    """Turns the loop's waits into jumps of its clock."""

    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            raise RuntimeError("nothing is scheduled and nothing is ready: this would wait forever")
        self._loop.advance(timeout)
        return ready


def run_virtual(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` to its end on a fresh :class:`VirtualTimeLoop` and return its result."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(work)

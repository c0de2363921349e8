"""Waiting for a change of state that is kept elsewhere.

An ``asyncio.Event`` holds a queue from the start, most of a kilobyte, and a session would have a
dozen of them in which hardly ever a task waits. This costs nothing until somebody does.
"""

from __future__ import annotations

import asyncio


class Waiters:
    """The tasks that wait for something to change. Use it as a condition::

        while not self._ready:
            await self._waiters.wait()

    What changes the state calls :meth:`wake` afterwards. Nothing is remembered: a wake without a
    waiting task has no effect.
    """

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: tuple[asyncio.Future[None], ...] = ()

    async def wait(self) -> None:
        """Return after the next :meth:`wake`."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiting = (*self._waiting, waiter)
        try:
            await waiter
        finally:
            if self._waiting == (waiter,):  # the only one, as nearly always
                self._waiting = ()
            else:
                self._waiting = tuple(other for other in self._waiting if other is not waiter)

    def wake(self) -> None:
        """Let all that wait look again."""
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)

"""The firmware's main task: runs work in order; slow work delays the rest.

Source: Application::Schedule and Application::Run in main/application.cc. A tool that takes two
seconds delays the handling of `tts start` and the microphone's packets by two seconds.
"""

from __future__ import annotations

import asyncio
import functools
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

Slow = Coroutine[Any, Any, None]
"""Work that takes its time."""

Work = Callable[[], Slow | None]


class MainTask:
    """Runs work at once while idle, and queues it while busy. Has no task of its own."""

    def __init__(self, on_free: Callable[[], None]) -> None:
        self._on_free = on_free  # called whenever slow work is over
        self._queue: deque[Work] = deque()
        self._running = False
        self._slow: asyncio.Task[None] | None = None

    @property
    def busy(self) -> bool:
        """Whether slow work is running."""
        return self._slow is not None

    def schedule(self, work: Work) -> None:
        """Run `work` after everything scheduled before it; a coroutine is awaited."""
        self._queue.append(work)
        self._drain()

    async def close(self) -> None:
        """Drop queued work and cancel running work."""
        self._queue.clear()
        if self._slow is not None:
            self._slow.cancel()
            await asyncio.wait([self._slow])

    def _drain(self) -> None:
        if self._running or self._slow is not None:
            return
        self._running = True
        try:
            while self._queue:
                slow = self._queue.popleft()()
                if slow is not None:
                    self._slow = asyncio.create_task(self._finish(slow))
                    self._slow.add_done_callback(functools.partial(_close, slow))
                    return
        finally:
            self._running = False

    async def _finish(self, slow: Slow) -> None:
        try:
            await slow
        finally:
            self._slow = None
            self._on_free()
            self._drain()


def _close(work: Slow, _: asyncio.Task[None]) -> None:
    """Close work that was never begun: its task was cancelled before the first step."""
    work.close()

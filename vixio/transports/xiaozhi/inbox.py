"""Messages that a device has sent and its session has not read yet.

Reading one that has arrived is a plain call, and the wait for the next one ends when the channel
is closed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from vixio.core.waiters import Waiters

HIGH_WATER = 64
"""Messages: 3.8 s of audio. Above it the network is paused: the kernel and the device buffer."""

LOW_WATER = HIGH_WATER // 4
"""Pausing and resuming are system calls, too expensive for every message of a burst."""


class Inbox:
    """A queue of whole messages with one reader. ``pause`` and ``resume`` act on the network.

    Bounded: one read of the network may lie above the high-water mark, no more.
    """

    __slots__ = ("_arrived", "_closed", "_messages", "_pause", "_paused", "_resume", "enough")

    def __init__(self, pause: Callable[[], None], resume: Callable[[], None]) -> None:
        self.enough = 1
        """Binary messages that are worth waking the reader for. A text wakes it at once."""
        self._pause = pause
        self._resume = resume
        self._messages: deque[str | bytes] = deque()
        self._arrived = Waiters()
        self._paused = False
        self._closed = False

    def __len__(self) -> int:
        return len(self._messages)

    def put(self, message: str | bytes) -> None:
        """Queue a message; a closed inbox drops it."""
        if self._closed:
            return
        self._messages.append(message)
        if len(self._messages) >= self.enough or isinstance(message, str):
            self._arrived.wake()
        if not self._paused and len(self._messages) > HIGH_WATER:
            self._paused = True
            self._pause()

    async def get(self) -> str | bytes:
        """Return the oldest message. Cancelled, it has taken none. Raises EOFError when closed."""
        while not self._messages:
            if self._closed:
                raise EOFError
            await self._arrived.wait()
        message = self._messages.popleft()
        if self._paused and len(self._messages) <= LOW_WATER:
            self._paused = False
            self._resume()
        return message

    def close(self) -> None:
        """Drop what waits and end the wait of the reader. Reading is resumed. Idempotent."""
        self._closed = True
        self._messages.clear()
        self._arrived.wake()
        if self._paused:  # the peer's answer to our close frame is still to be read
            self._paused = False
            self._resume()

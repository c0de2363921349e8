"""The events of one reply, between the agent and its tools on one side and one reader."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from vixio.core.chunk import Chunk, TextDelta
from vixio.core.waiters import Waiters

AGENT_LIMIT = 100
"""Unread chunks above which the agent waits, so that a slow reader slows the model down."""

AGENT_BURST = 16
"""Unread chunks that the agent may add before the reader and the loop's other tasks come first.
A model's words often arrive several at a time, and a turn of a busy loop takes milliseconds."""

TOOL_LIMIT = 200
"""Unread chunks above which those of tools are dropped: a tool cannot wait for the reader."""


JOINED_CHARS = 2_000
"""Unread running text of a tool becomes one chunk up to this length, since its pieces are words."""


class ReplyBuffer:
    """An ordered, bounded queue for one reader."""

    def __init__(self) -> None:
        self._waiting: deque[Chunk] = deque()
        self._readable = Waiters()
        self._writable = Waiters()
        self._finished = False
        self._error: Exception | None = None

    @property
    def takes_from_tools(self) -> bool:
        """Whether a tool may add a chunk: the reply is not over, and is being read."""
        return not self._finished and len(self._waiting) < TOOL_LIMIT

    def put(self, chunk: Chunk) -> None:
        """Add a chunk; dropped after the end."""
        if self._finished:
            return
        self._waiting.append(chunk)
        self._readable.wake()

    def put_said(self, chunk: Chunk) -> None:
        """Add a chunk of a tool; running text joins the unread piece before it."""
        last = self._waiting[-1] if self._waiting else None
        if (
            isinstance(chunk, TextDelta)
            and isinstance(last, TextDelta)
            and not (chunk.complete or last.complete)
            and last.turn_id == chunk.turn_id
            and len(last.text) < JOINED_CHARS
        ):
            self._waiting[-1] = TextDelta(chunk.turn_id, last.text + chunk.text)
        else:
            self.put(chunk)

    async def room(self) -> None:
        """Wait until the agent may go on: at once for a few chunks, then the reader comes first."""
        if len(self._waiting) < AGENT_BURST and not self._finished:
            return
        await asyncio.sleep(0)
        while len(self._waiting) >= AGENT_LIMIT:
            await self._writable.wait()

    def finish(self, error: Exception | None = None) -> None:
        """Mark the end. The reader gets what is left, then ``error`` if there is one."""
        if not self._finished:
            self._finished, self._error = True, error
        self._readable.wake()

    def close(self) -> None:
        """Mark the end, and drop what has not been read."""
        self._waiting.clear()
        self._finished, self._error = True, None
        self._readable.wake()

    async def head(self) -> Chunk | None:
        """Wait for the next chunk and return it without removing it; None at the end.

        Raises the error that :meth:`finish` was given.
        """
        while not self._waiting:
            if self._finished:
                if self._error is not None:
                    raise self._error
                return None
            await self._readable.wait()
        return self._waiting[0]

    def take(self) -> Chunk:
        """Remove and return the chunk that :meth:`head` has just returned."""
        chunk = self._waiting.popleft()
        self._writable.wake()
        return chunk


def from_any_thread(callback: Callable[[Chunk], None]) -> Callable[[Chunk], None]:
    """Return a function that calls ``callback`` on the running event loop, from any thread."""
    loop = asyncio.get_running_loop()

    def call(chunk: Chunk) -> None:
        try:
            here = asyncio.get_running_loop() is loop
        except RuntimeError:  # a thread, where synchronous tools run
            here = False
        if here:
            callback(chunk)
        elif not loop.is_closed():
            loop.call_soon_threadsafe(callback, chunk)

    return call

"""What a tool says or shows while it works, on its way into the running reply."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import TypeVar

from vixio.core.chunk import Chunk, ToolCalled
from vixio.core.streams import closing

MAX_WAITING = 100
"""Chunks that wait to be taken; a tool that says more than anybody can hear is not heard."""

T = TypeVar("T", bound=Chunk)


class Outbox:
    """Chunks put by tools, from any thread, and taken by the one who makes the reply."""

    def __init__(self) -> None:
        """Belongs to the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Chunk] = deque()
        self._ready: asyncio.Future[None] | None = None
        self._closed = False

    def put(self, chunk: Chunk) -> None:
        """Add ``chunk``; dropped once the reply is over, or when nobody keeps up."""
        try:
            here = asyncio.get_running_loop() is self._loop
        except RuntimeError:  # in a thread, where functions that are not async run
            here = False
        if here:
            self._put(chunk)
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._put, chunk)

    def take(self) -> list[Chunk]:
        """Return what waits, oldest first."""
        waiting = list(self._waiting)
        self._waiting.clear()
        return waiting

    def ready(self) -> asyncio.Future[None]:
        """Return a future that is done as soon as something waits."""
        if self._ready is None or self._ready.done():
            self._ready = self._loop.create_future()
            if self._waiting:
                self._ready.set_result(None)
        return self._ready

    def close(self) -> None:
        """Take nothing more: the reply is over."""
        self._closed = True
        self._waiting.clear()

    def _put(self, chunk: Chunk) -> None:
        if self._closed or len(self._waiting) >= MAX_WAITING:
            return
        self._waiting.append(chunk)
        if self._ready is not None and not self._ready.done():
            self._ready.set_result(None)


async def merged(stream: AsyncIterator[T], outbox: Outbox) -> AsyncIterator[T | Chunk]:
    """Pass ``stream`` on, and what comes out of ``outbox`` meanwhile. Closes both.

    What a tool said stands behind its call and before its result.
    """
    item: asyncio.Future[T] | None = None
    async with closing(stream) as items:
        try:
            while True:
                item = asyncio.ensure_future(anext(items))
                while not item.done():
                    await asyncio.wait((item, outbox.ready()), return_when=asyncio.FIRST_COMPLETED)
                    if not item.done():
                        for chunk in outbox.take():
                            yield chunk
                try:
                    first = item.result()
                except StopAsyncIteration:
                    break
                said = outbox.take()
                if isinstance(first, ToolCalled):
                    yield first
                for chunk in said:
                    yield chunk
                if not isinstance(first, ToolCalled):
                    yield first
            for chunk in outbox.take():
                yield chunk
        finally:
            outbox.close()
            if item is not None and not item.done():
                item.cancel()
                # The generator cannot be closed while it still runs.
                await asyncio.wait((item,))
            if item is not None and not item.cancelled():
                # What it raised while it was called off is nobody's business any more.
                item.exception()

"""Helpers for the streams of the replying half: every wait bounded, every generator closed."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from typing import TypeVar

from vixio.core.clock import now
from vixio.core.errors import ProviderTimeout
from vixio.core.watchdog import Watchdog

T = TypeVar("T")


@contextlib.asynccontextmanager
async def closing(stream: AsyncIterator[T]) -> AsyncGenerator[AsyncIterator[T], None]:
    """Close ``stream`` at the end, if it is one that can be closed (async generators are)."""
    try:
        yield stream
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()


async def bounded(
    stream: AsyncIterator[T], *, provider: str, what: str, first: float, next: float
) -> AsyncIterator[T]:
    """Pass ``stream`` on; raise ProviderTimeout when an item takes too long.

    ``first`` seconds for the first item, ``next`` for each later one. Closes ``stream``.
    """
    limit = first
    with contextlib.closing(Watchdog()) as watchdog:
        async with closing(stream) as items:
            while True:
                try:
                    with watchdog.until(now() + limit):
                        item = await anext(items)
                except StopAsyncIteration:
                    return
                except TimeoutError:
                    raise ProviderTimeout(provider, what, limit) from None
                limit = next
                yield item


async def within(stream: AsyncIterator[T], seconds: float) -> AsyncIterator[T]:
    """Pass ``stream`` on; raise TimeoutError when it has been awaited for ``seconds`` in all.

    The reader's own time does not count. Closes ``stream``.
    """
    left = seconds
    with contextlib.closing(Watchdog()) as watchdog:
        async with closing(stream) as items:
            while True:
                began = now()
                try:
                    with watchdog.until(began + left):
                        item = await anext(items)
                except StopAsyncIteration:
                    return
                left -= now() - began
                yield item

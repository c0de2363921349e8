"""Tool sources as their runtime would hold them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

from vixio.core.tools.source import ToolSource

BOUND = 60.0
"""Seconds for a source to know whether it works, and to close, on a busy machine."""

SourceT = TypeVar("SourceT", bound=ToolSource)


@asynccontextmanager
async def started(source: SourceT) -> AsyncIterator[SourceT]:
    """Yield the source once its first attempt is over; close it at the end."""
    await source.start()
    try:
        async with asyncio.timeout(BOUND):
            await source.ready()
        yield source
    finally:
        async with asyncio.timeout(BOUND):
            await source.close()

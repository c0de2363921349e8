"""Reads an agent's stream of events, within bounds."""

from __future__ import annotations

from collections.abc import AsyncIterator

from vixio.core.errors import ToolError
from vixio.core.event_stream import EventReader

MAX_EVENT_BYTES = 1024 * 1024
MAX_STREAM_BYTES = 16 * 1024 * 1024
MAX_EVENTS = 50_000


async def read_events(pieces: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """Yield the data of each event in ``pieces``. Raises ToolError if they are too long."""
    reader = EventReader(MAX_EVENT_BYTES)
    size = events = 0
    async for piece in pieces:
        try:
            found = reader.feed(piece)
        except ValueError:
            raise _too_long() from None
        size += len(piece)
        events += len(found)
        if size > MAX_STREAM_BYTES or events > MAX_EVENTS:
            raise _too_long()
        for data in found:
            if data:  # else a sign of life
                yield data


def _too_long() -> ToolError:
    return ToolError("failed", "the agent's answer is too long")

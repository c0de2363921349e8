"""Reads a stream of server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp

BOUND_S = 60.0

Event = dict[str, Any]


@dataclass
class EventStream:
    """An open stream. ``id``: of the last event."""

    answer: aiohttp.ClientResponse
    id: str = ""
    events: list[Event] = field(default_factory=list)

    async def until(self, wanted: Callable[[Event], bool]) -> list[Event]:
        """Read up to an event, bounded; return what came with it as the last."""
        found: list[Event] = []
        async with asyncio.timeout(BOUND_S):
            async for event in self:
                found.append(event)
                if wanted(event):
                    return found
        raise AssertionError(f"the stream ended before it came: {found}")

    async def until_type(self, kind: str) -> list[Event]:
        """Read up to an event of a type."""
        return await self.until(lambda event: event["type"] == kind)

    async def begun(self) -> None:
        """Wait for the first id."""
        async with asyncio.timeout(BOUND_S):
            while not self.id:
                assert await self._block() is None

    async def rest(self) -> list[Event]:
        """Read to the end of the stream, bounded."""
        async with asyncio.timeout(BOUND_S):
            return [event async for event in self]

    async def __aiter__(self) -> AsyncIterator[Event]:
        while not self.answer.content.at_eof():
            if (event := await self._block()) is not None:
                self.events.append(event)
                yield event

    async def _block(self) -> Event | None:
        """Read to the next empty line; return the event that ends there, if there is data."""
        data = ""
        while line := (await self.answer.content.readline()).decode().rstrip("\n"):
            name, _, value = line.partition(": ")
            if name == "data":
                data += value
            elif name == "id":
                self.id = value
        return json.loads(data) if data else None


@asynccontextmanager
async def streaming(
    http: aiohttp.ClientSession, url: str, token: str, *, after: str = "", **query: str
) -> AsyncIterator[EventStream]:
    """Open the stream of a server, after an id or from now on."""
    headers = {"Authorization": f"Bearer {token}"} | ({"Last-Event-ID": after} if after else {})
    limits = aiohttp.ClientTimeout(total=None)
    async with http.get(
        f"{url}/api/v1/events", headers=headers, params=query, timeout=limits
    ) as answer:
        assert answer.status == 200, await answer.text()
        assert answer.content_type == "text/event-stream"
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["X-Accel-Buffering"] == "no"
        stream = EventStream(answer, after)
        if not after:
            await stream.begun()
        yield stream

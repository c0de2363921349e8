"""What the stream of events costs: each step once without a reader of it, and once with one."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from vixio.api.keys import Keys
from vixio.api.scopes import Scope
from vixio.database.create import make_database

_RETRY_S: Final = 0.1


@dataclass
class Watcher:
    """Reads the stream of the server on ``port``. ``events``: how many came."""

    token: str
    port: int
    events: int = 0

    async def read(self) -> None:
        """Read until it is cancelled; again where the server is not there, or ends."""
        while True:
            with suppress(OSError, EOFError):
                await self._read()
            await asyncio.sleep(_RETRY_S)

    async def _read(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(
                b"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                b"Authorization: Bearer " + self.token.encode() + b"\r\n\r\n"
            )
            while line := await reader.readline():
                self.events += line.startswith(b"data:")
        finally:
            writer.close()


async def make_watcher(folder: Path) -> Watcher:
    """Return one with a token of the registry in ``folder``, and a port that is free."""
    database = make_database(folder, "")
    await database.open()
    _, token = await Keys(database).create("bench", [Scope.ADMIN], "bench")
    await database.close()
    with socket.create_server(("127.0.0.1", 0)) as free:
        return Watcher(token, free.getsockname()[1])


@asynccontextmanager
async def watching(watcher: Watcher | None) -> AsyncIterator[None]:
    """Have it read while the block runs."""
    if watcher is None:
        yield
        return
    reading = asyncio.create_task(watcher.read())
    try:
        yield
    finally:
        reading.cancel()
        await asyncio.wait([reading])

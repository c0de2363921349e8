"""What it costs to be watched: consoles read the stream of all events, and ask the API."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from time import perf_counter
from typing import Final

from vixio.core.tasks import cancel_and_wait
from vixio.data.database.create import make_database
from vixio.web.api.keys import Keys
from vixio.web.api.scopes import Scope
from vixio_bench.load.usage import percentile

PATHS: Final = ("/devices?limit=100", "/conversations?limit=50", "/reminders")
"""What the API is asked for, in turn."""

EVERY_S: Final = 0.5
"""Between two questions."""

_RETRY_S: Final = 0.1


@dataclass
class Watcher:
    """Reads the stream of the server on ``port``, once for each token, and asks its API.

    ``events``: how many came. ``asked_ms``: how long each answer took, connecting included.
    """

    tokens: Sequence[str]
    port: int
    events: int = 0
    asked_ms: list[float] = field(default_factory=list)

    async def read(self, token: str) -> None:
        """Read until it is cancelled; again where the server is not there, or ends."""
        while True:
            with suppress(OSError, EOFError):
                async with self._got("/events", token) as reader:
                    while line := await reader.readline():
                        self.events += line.startswith(b"data:")
            await asyncio.sleep(_RETRY_S)

    async def ask(self) -> None:
        """Ask until it is cancelled, from the first event on."""
        for path in cycle(PATHS):
            await asyncio.sleep(EVERY_S)
            if not self.events:
                continue
            before = perf_counter()
            with suppress(OSError, EOFError):
                async with self._got(path, self.tokens[0]) as reader:
                    answer = await reader.read()
                if answer.startswith(b"HTTP/1.1 200 "):
                    self.asked_ms.append((perf_counter() - before) * 1000)

    def said(self) -> str:
        """Return what it got, in words."""
        if not self.asked_ms:
            return f"{self._readers} got {self.events} events, and the API did not answer"
        p50, p95 = (percentile(self.asked_ms, each) for each in (0.5, 0.95))
        return (
            f"{self._readers} got {self.events} events; the API answered {len(self.asked_ms)} "
            f"requests beside it, p50 {p50:.0f} ms, p95 {p95:.0f} ms"
        )

    @property
    def _readers(self) -> str:
        number = len(self.tokens)
        return "the reader" if number == 1 else f"{number} readers together"

    @asynccontextmanager
    async def _got(self, path: str, token: str) -> AsyncIterator[asyncio.StreamReader]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(
                f"GET /api/v1{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
                f"Authorization: Bearer {token}\r\n\r\n".encode()
            )
            yield reader
        finally:
            writer.close()


async def make_watcher(folder: Path, readers: int) -> Watcher:
    """Return one with tokens of the registry in ``folder``, and a port that is free."""
    database = make_database(folder, "")
    await database.open()
    keys = Keys(database)
    tokens = [
        (await keys.create(f"bench {each}", [Scope.ADMIN], "bench"))[1] for each in range(readers)
    ]
    await database.close()
    with socket.create_server(("127.0.0.1", 0)) as free:
        return Watcher(tokens, free.getsockname()[1])


@asynccontextmanager
async def watching(watcher: Watcher | None) -> AsyncIterator[None]:
    """Have it read while the block runs."""
    if watcher is None:
        yield
        return
    work = (*map(watcher.read, watcher.tokens), watcher.ask())
    tasks = [asyncio.create_task(each) for each in work]
    try:
        yield
    finally:
        await cancel_and_wait(*tasks)

"""A way to a broker that counts what passes, and can hold it back, as a bad network does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class Gate:
    """Stands between a node and its broker. ``passed``: pieces that went by, in either way."""

    def __init__(self, port: int) -> None:
        self._to = port
        self.refuses = False
        """Whether connections end at once, as to a server that is down."""
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._open = asyncio.Event()
        self._open.set()
        self.passed = 0
        self.before: Callable[[int], None] = lambda passed: None
        """Called before each piece with the number of those before it."""

    @property
    def port(self) -> int:
        """Where it is found."""
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def url(self) -> str:
        """Where a node finds it."""
        return f"nats://127.0.0.1:{self.port}"

    def close(self) -> None:
        """Hold everything back, without a word to either side."""
        self._open.clear()

    def open(self) -> None:
        """Let everything pass, also what was held back."""
        self._open.set()

    def cut(self) -> None:
        """End the connections."""
        for writer in self._writers:
            writer.transport.abort()

    def down(self) -> None:
        """Be as a server that is down."""
        self.refuses = True
        self.cut()

    def up(self) -> None:
        """Be as one that is up again."""
        self.refuses = False

    async def start(self) -> None:
        """Listen."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)

    async def stop(self) -> None:
        """Listen no more."""
        assert self._server is not None
        self._server.close()
        self.open()
        self.cut()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refuses:
            writer.transport.abort()
            return
        try:
            onward = await asyncio.open_connection("127.0.0.1", self._to)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, onward[1]}
        await asyncio.gather(self._pump(reader, onward[1]), self._pump(onward[0], writer))
        self._writers -= {writer, onward[1]}

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while piece := await reader.read(65_536):
                await self._open.wait()
                self.before(self.passed)
                self.passed += 1
                writer.write(piece)
                await writer.drain()
        except OSError:
            pass
        writer.transport.abort()


@asynccontextmanager
async def gate(port: int) -> AsyncIterator[Gate]:
    """Yield a gate to the broker on ``port``."""
    made = Gate(port)
    await made.start()
    try:
        yield made
    finally:
        await made.stop()

"""The connections of one provider: each serves one utterance at a time.

Both servers start a new utterance after ``is_speaking: false``. The C++ server keeps the hotwords
of the first one, so a connection is reused for the same hotwords only. After an abandoned utterance
the connection is closed, because the server may still send results of it.
"""

from __future__ import annotations

import asyncio
import ssl

from vixio.providers.funasr_server.connection import Connection, tls_context
from vixio.providers.funasr_server.messages import Result
from vixio.providers.funasr_server.settings import NAME, FunASRServerSettings
from vixio.providers.funasr_server.transcript import Habits
from vixio.providers.service_socket import SocketPool


class Pool:
    """Opens, keeps and closes connections."""

    def __init__(self, settings: FunASRServerSettings) -> None:
        self.habits = Habits()
        self._settings = settings
        self._sockets = SocketPool[Connection](
            NAME, keep=settings.idle_connections, keep_s=settings.keep
        )
        self._context: ssl.SSLContext | None = None
        self._starting = asyncio.Lock()
        self._started = False

    async def start(self) -> None:
        """Read the certificates in a thread. Idempotent. Raises ProviderUnavailable."""
        async with self._starting:
            self._sockets.check()
            if not self._started:
                self._context = await asyncio.to_thread(tls_context, self._settings)
                self._started = True

    async def acquire(self, hotwords: str, *, fresh: bool) -> Connection:
        """Return a connection, a new one if ``fresh``. Raises ProviderError."""
        await self.start()
        return await self._sockets.acquire(
            lambda: Connection.open(self._settings, self._context, hotwords, self._came_late),
            fresh=fresh,
            fits=lambda connection: connection.hotwords == hotwords,
        )

    async def try_connection(self) -> None:
        """Connect, and close the connection. Raises ProviderError."""
        self.discard(await self.acquire("", fresh=True))

    def release(self, connection: Connection) -> None:
        """Take back a connection whose utterance is complete."""
        self._sockets.release(connection)

    def discard(self, connection: Connection) -> None:
        """Close a connection that cannot be reused; the server ends its utterance."""
        self._sockets.discard(connection)

    async def close(self) -> None:
        """Close all connections within a timeout. Idempotent."""
        await self._sockets.close()

    def _came_late(self, result: Result) -> None:
        if not result.ended:
            # A segment after the transcript counted as complete, or of an abandoned utterance.
            self.habits.doubt()

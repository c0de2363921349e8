"""The connection pool of one provider: a connection serves one utterance at a time.

Both servers start a new utterance after ``is_speaking: false``. The C++ server keeps the hotwords
of the first one, so a connection is reused for the same hotwords only. After an abandoned utterance
the connection is closed, because the server may still send results of it.
"""

from __future__ import annotations

import asyncio
import logging
import ssl

from vixio.core.errors import ProviderError
from vixio.providers.funasr_server.connection import Connection, tls_context
from vixio.providers.funasr_server.messages import Result
from vixio.providers.funasr_server.settings import NAME, FunASRServerSettings
from vixio.providers.funasr_server.transcript import Habits

_log = logging.getLogger(__name__)


class Pool:
    """Opens, keeps and closes connections."""

    def __init__(self, settings: FunASRServerSettings) -> None:
        self.habits = Habits()
        self._settings = settings
        self._context: ssl.SSLContext | None = None
        self._idle: dict[Connection, asyncio.TimerHandle] = {}
        self._used: set[Connection] = set()
        self._closing: set[asyncio.Task[None]] = set()
        self._starting = asyncio.Lock()
        self._started = False
        self._closed = False

    async def start(self) -> None:
        """Read the certificates in a thread. Idempotent. Raises ProviderUnavailable."""
        async with self._starting:
            self._check()
            if not self._started:
                self._context = await asyncio.to_thread(tls_context, self._settings)
                self._started = True

    async def acquire(self, hotwords: str, *, fresh: bool) -> Connection:
        """Return a connection, a new one if ``fresh``. Raises ProviderError."""
        await self.start()
        connection = None if fresh else self._take(hotwords)
        if connection is None:
            connection = await self._connected(hotwords)
        self._used.add(connection)
        return connection

    async def try_connection(self) -> None:
        """Connect, and close the connection. Raises ProviderError."""
        await self.start()
        self.discard(await self._connected(""))

    def release(self, connection: Connection) -> None:
        """Take back a connection whose utterance is complete."""
        connection.detach()
        self._used.discard(connection)
        keep = self._settings.idle_connections
        if connection.failure is not None or self._closed or not keep:
            self.discard(connection)
            return
        if len(self._idle) >= keep:
            self._drop(next(iter(self._idle)))
        loop = asyncio.get_running_loop()
        self._idle[connection] = loop.call_later(self._settings.keep, self._drop, connection)

    def discard(self, connection: Connection) -> None:
        """Close a connection that cannot be reused; the server ends its utterance."""
        connection.detach()
        self._used.discard(connection)
        task = asyncio.create_task(connection.close(), name="funasr-server close")
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Close all connections within a timeout. Idempotent."""
        self._closed = True
        for connection in list(self._idle):
            self._drop(connection)
        await asyncio.gather(*(connection.close() for connection in self._used))
        self._used.clear()
        while self._closing:
            await asyncio.wait(self._closing)

    async def _connected(self, hotwords: str) -> Connection:
        connection = await Connection.open(self._settings, self._context, hotwords, self._came_late)
        if self._closed:
            await connection.close()
            self._check()
        _log.debug("connected", extra={"provider": NAME})
        return connection

    def _take(self, hotwords: str) -> Connection | None:
        # The one used last, so that spare connections reach their idle timeout.
        for connection in reversed(list(self._idle)):
            if connection.failure is not None:
                self._drop(connection)
            elif connection.hotwords == hotwords:
                self._idle.pop(connection).cancel()
                return connection
        return None

    def _drop(self, connection: Connection) -> None:
        self._idle.pop(connection).cancel()
        self.discard(connection)

    def _came_late(self, result: Result) -> None:
        if not result.ended:
            # A segment after the transcript counted as complete, or of an abandoned utterance.
            self.habits.doubt()

    def _check(self) -> None:
        if self._closed:
            raise ProviderError(NAME, "the provider is closed", retryable=False)

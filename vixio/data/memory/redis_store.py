"""A Redis server, through the SDK's ``RedisSession``.

Importing this imports the Redis client and the SDK.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import redis.asyncio as redis
from agents.extensions.memory import RedisSession

from vixio.data.database.link import Trouble
from vixio.data.memory.session_store import SessionStore
from vixio.data.memory.store import IO_TIMEOUT_S, StoreFailed

if TYPE_CHECKING:
    from agents.memory import Session

PREFIX = "vixio"

_PARTS = (":messages", ":counter")
"""Suffixes that the SDK adds to the key of a session. No session id ends with one."""

_AT_ONCE = 500
"""Keys whose times are asked for in one round trip."""


class RedisStore(SessionStore):
    """A single Redis server (no cluster) behind ``url``, such as ``redis://host:6379/0``."""

    name = "redis"

    def __init__(self, url: str) -> None:
        """Raises StoreFailed if ``url`` is not the URL of a Redis server."""
        try:
            parts = urlsplit(url)
            self.place = f"{parts.scheme}://{parts.hostname}:{parts.port or 6379}{parts.path}"
            self._client: redis.Redis = redis.from_url(
                url, socket_timeout=IO_TIMEOUT_S, socket_connect_timeout=IO_TIMEOUT_S
            )
        except ValueError as error:
            message = str(error).splitlines()[0]
            raise StoreFailed(
                f"memory.url is no URL such as redis://host:6379/0: {message}"
            ) from error

    async def open(self) -> None:
        await self._client.ping()

    async def close(self) -> None:
        await self._client.aclose()

    def trouble(self, error: Exception) -> Trouble:
        """A plain error of a response is one of a command or its values; but for two
        (https://redis.io/docs, "Redis serialization protocol", simple errors)."""
        if isinstance(error, redis.RedisError) and str(error).startswith(("OOM", "MISCONF")):
            return Trouble.FULL  # of memory; the disk takes no snapshot
        plain = type(error) in (redis.ResponseError, redis.DataError)
        return Trouble.OUTAGE if isinstance(error, redis.RedisError) and not plain else Trouble.DATA

    @asynccontextmanager
    async def session(self, session_id: str) -> AsyncIterator[Session]:
        yield RedisSession(session_id, redis_client=self._client, key_prefix=PREFIX)

    def exclusive(self, key: str) -> AbstractAsyncContextManager[object]:
        # Not below PREFIX, where the sessions are.
        return self._client.lock(
            f"{PREFIX}-facts:{key}", timeout=IO_TIMEOUT_S, blocking_timeout=IO_TIMEOUT_S
        )

    async def trim(self, session_id: str, keep: int) -> None:
        await self._client.ltrim(f"{PREFIX}:{session_id}:messages", -keep, -1)

    async def sessions(self) -> Iterable[tuple[str, float]]:
        names: list[str] = []
        async for raw in self._client.scan_iter(match=f"{PREFIX}:*", count=1_000):
            name = raw.decode() if isinstance(raw, bytes) else str(raw)
            if not name.endswith(_PARTS):
                names.append(name)
        found: list[tuple[str, float]] = []
        for start in range(0, len(names), _AT_ONCE):
            some = names[start : start + _AT_ONCE]
            times = self._client.pipeline(transaction=False)
            for name in some:
                _ = times.hget(name, "updated_at")  # queued: its result is that of execute
            for name, at in zip(some, await times.execute(), strict=True):
                found.append((name.removeprefix(f"{PREFIX}:"), float(at or 0)))
        return found

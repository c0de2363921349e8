"""PostgreSQL, by asyncpg. Importing this imports the driver."""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import urlsplit

import asyncpg

from vixio.core.clock import awake
from vixio.core.wall_clock import CLOCK
from vixio.data.database.database import (
    IO_TIMEOUT_S,
    Database,
    DatabaseFailed,
    Row,
    Transaction,
    Value,
    numbered,
)
from vixio.data.database.link import Trouble
from vixio.data.database.migrate import migrate

MAX_CONNECTIONS: Final = 4
"""Of one process: as many operations as its link runs at once."""


_DATA: Final = {"0A", "21", "22", "23", "42", "44", "54"}
"""Classes of errors of a statement and its values (PostgreSQL 17, appendix A)."""

_OUTAGES: Final = {"42501", "42P01"}
"""Of these, what an operator has to mend: a right, and a table, that are missing."""

GRACE_S: Final = 1.0
"""For a connection that nobody waits for any more to be made."""

SURE_S: Final = 0.5
"""An answer that took longer does not say what time it is."""


class PostgreSQLDatabase(Database):
    """A database behind ``url``, as ``postgresql://user:password@host/name``.

    The servers that share it take the time from it (:mod:`vixio.core.wall_clock`).
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        host = parts.hostname or "localhost"
        self.place = f"postgresql://{host}:{parts.port or 5432}{parts.path}"
        # SQLAlchemy's spelling is understood as well.
        self.url = re.sub(r"^postgres(ql)?(\+\w+)?://", "postgresql://", url)
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None

    async def open(self) -> None:
        await self.close()
        try:
            self._pool = await asyncpg.create_pool(
                self.url,
                min_size=0,
                max_size=MAX_CONNECTIONS,
                connect=_connect,
                timeout=IO_TIMEOUT_S,
                command_timeout=IO_TIMEOUT_S,
            )
            await self._read_clock()
            await migrate(self)
        except BaseException as error:
            await self.close()
            if isinstance(error, OSError | asyncpg.PostgresError | asyncpg.InterfaceError):
                raise DatabaseFailed(f"{self.place}: {_reason(error)}") from error
            raise

    async def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.terminate()  # close() would wait for a connection that hangs

    @asynccontextmanager
    async def transaction(self, *, write: bool = True) -> AsyncIterator[Transaction]:
        if self._pool is None:
            await self.open()
        assert self._pool is not None  # noqa: S101 - open() has made it
        async with (
            self._pool.acquire(timeout=IO_TIMEOUT_S) as connection,
            connection.transaction(
                # What is read is of one moment.
                isolation="read_committed" if write else "repeatable_read",
                readonly=not write,
            ),
        ):
            yield _PostgreSQLTransaction(connection)

    def trouble(self, error: Exception) -> Trouble:
        return trouble(error)

    async def changed(self) -> bool:
        await self._read_clock()
        return True  # PostgreSQL has nothing cheaper than the question itself

    async def _read_clock(self) -> None:
        """Set the clock of the process; within half the time that the answer takes, it is right."""
        if self._pool is None:
            await self.open()
        assert self._pool is not None  # noqa: S101 - open() has made it
        async with self._pool.acquire(timeout=IO_TIMEOUT_S) as connection:
            asked = awake()
            at = await connection.fetchval("SELECT EXTRACT(EPOCH FROM clock_timestamp())")
            took = awake() - asked
        if took < SURE_S:
            CLOCK.set(float(at) + took / 2)


async def _connect(*arguments: Any, **options: Any) -> asyncpg.Connection[Any]:  # noqa: ANN401
    """Connect as asyncpg does, and be cancelled only behind it, or after :data:`GRACE_S`.

    asyncpg 0.32, if it is cancelled before it has asked for TLS, leaves an error that nobody takes
    (``TLSUpgradeProto.connection_lost``), which the event loop reports.
    """
    connecting = asyncio.ensure_future(asyncpg.connect(*arguments, **options))
    try:
        return await asyncio.shield(connecting)
    except asyncio.CancelledError:
        connecting.add_done_callback(_discard)
        try:
            await asyncio.wait({connecting}, timeout=GRACE_S)
        finally:
            connecting.cancel()
        raise


def _discard(connecting: asyncio.Future[asyncpg.Connection[Any]]) -> None:
    if not connecting.cancelled() and connecting.exception() is None:
        connecting.result().terminate()


class _PostgreSQLTransaction(Transaction):
    dialect = "postgresql"

    def __init__(self, connection: Any) -> None:  # noqa: ANN401 - asyncpg's proxy is untyped
        self._connection = connection

    async def _fetch(self, sql: str, values: Mapping[str, Value]) -> Sequence[Row]:
        text, arguments = numbered(sql, values)
        return [dict(row) for row in await self._connection.fetch(text, *arguments)]

    async def _execute(self, sql: str, values: Mapping[str, Value]) -> int:
        text, arguments = numbered(sql, values)
        status: str = await self._connection.execute(text, *arguments)
        _, _, number = status.rpartition(" ")  # "UPDATE 3", "INSERT 0 1", "CREATE TABLE"
        return int(number) if number.isdecimal() else 0

    async def lock(self, name: str) -> None:
        key = zlib.crc32(name.encode())
        await self._connection.execute("SELECT pg_advisory_xact_lock($1)", key)

    async def tables(self) -> Sequence[str]:
        rows = await self.fetch(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
        )
        return [row["table_name"] for row in rows]


def trouble(error: BaseException) -> Trouble:
    """Return what an error says of a PostgreSQL server."""
    if isinstance(error, asyncpg.DiskFullError):
        return Trouble.FULL
    if isinstance(error, asyncpg.PostgresError):
        state = error.sqlstate or ""
        data = state[:2] in _DATA and state not in _OUTAGES
        return Trouble.DATA if data else Trouble.OUTAGE
    # A value that the driver cannot encode is a ValueError too; the others are of its connection.
    if isinstance(error, asyncpg.InterfaceError) and not isinstance(error, ValueError):
        return Trouble.OUTAGE
    return Trouble.OUTAGE if isinstance(error, asyncpg.InternalClientError) else Trouble.DATA


def _reason(error: BaseException) -> str:
    first = str(error).splitlines()[0] if str(error) else type(error).__name__
    return f"{first}; check data.database and whether the server runs"

"""A SQLite file. Blocks the thread that it runs in, which is its own."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from vixio.data.database.database import Database, DatabaseFailed, Row, Transaction, Value
from vixio.data.database.link import Trouble
from vixio.data.database.migrate import migrate
from vixio.data.database.paths import file_identity
from vixio.data.database.sqlite_file import begin_to_write, open_file, trouble

CACHE_KIB: Final = 1_024
"""SQLite's own default of 2 MB would be the larger part of what the registry costs."""


class SQLiteDatabase(Database):
    """One file, readable by its owner alone. It and its folder are created if missing.

    One connection stays open. A file that is deleted or moved away is replaced by a new one.
    ``path`` None: in memory, which ends with it.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.place = str(path or "the registry in memory")
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._version = -1

    async def open(self) -> None:
        await self.close()
        try:
            if self._path is not None:
                connection = open_file(self._path)
            else:
                connection = sqlite3.connect(":memory:", isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise DatabaseFailed(self._explain(error)) from error
        connection.row_factory = sqlite3.Row
        self._connection = connection
        self._file = self._identity()
        try:
            # FULL: what is committed survives a power cut.
            for pragma in (
                "synchronous=FULL",
                "foreign_keys=ON",
                f"cache_size=-{CACHE_KIB}",
            ):
                connection.execute(f"PRAGMA {pragma}").fetchall()
            await migrate(self)
        except BaseException as error:
            await self.close()
            if isinstance(error, sqlite3.Error | OSError):
                raise DatabaseFailed(self._explain(error)) from error
            raise

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    @asynccontextmanager
    async def transaction(self, *, write: bool = True) -> AsyncIterator[Transaction]:
        connection = self._connection
        if connection is None or self._identity() != self._file:
            await self.open()
            connection = self._connection
        assert connection is not None  # noqa: S101 - open() has made it
        if write:
            begin_to_write(connection)
        else:
            connection.execute("BEGIN")
        with connection:  # commits, or rolls back
            yield _SQLiteTransaction(connection)

    def trouble(self, error: Exception) -> Trouble:
        return trouble(error)

    async def purge(self) -> None:
        """Empty the write-ahead log, which still has what was deleted."""
        if self._connection is not None:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    async def changed(self) -> bool:
        connection = self._connection
        if connection is None or self._identity() != self._file:
            return True
        (version,) = connection.execute("PRAGMA data_version").fetchone()
        known, self._version = self._version, version
        return bool(version != known)

    def _identity(self) -> tuple[int, int] | None:
        return file_identity(self._path) if self._path is not None else None

    def _explain(self, error: Exception) -> str:
        reason = getattr(error, "strerror", None) or str(error)
        remedy = "set data.folder to a place that can be written to"
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(
            error, sqlite3.OperationalError
        ):
            remedy = "the file is damaged or no SQLite file: restore a backup, or move it away"
        return f"{self.place}: {reason}; {remedy}"


class _SQLiteTransaction(Transaction):
    dialect = "sqlite"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def _fetch(self, sql: str, values: Mapping[str, Value]) -> Sequence[Row]:
        rows = self._connection.execute(sql, values).fetchall()
        return [dict(row) for row in rows]

    async def _execute(self, sql: str, values: Mapping[str, Value]) -> int:
        return self._connection.execute(sql, values).rowcount

    async def lock(self, name: str) -> None:
        pass  # BEGIN IMMEDIATE holds the only write lock

    async def tables(self) -> Sequence[str]:
        rows = await self.fetch("SELECT name FROM sqlite_master WHERE type = 'table'")
        return [row["name"] for row in rows]

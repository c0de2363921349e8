"""The default: one SQLite file on this machine.

The agent SDK is not imported: it takes a second or more and some 60 MB.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

from vixio.core.history import HistoryItem
from vixio.data.database.link import Trouble
from vixio.data.database.paths import file_identity, state_folder
from vixio.data.database.sqlite_file import begin_to_write, open_file, trouble
from vixio.data.memory.records import (
    FACTS,
    SUMMARY,
    Remembered,
    facts_item,
    summary_item,
    to_facts,
    to_input_items,
    to_summary,
    to_turns,
)
from vixio.data.memory.sqlite_tables import Tables
from vixio.data.memory.store import ChangeFacts, Known, MemoryStore, StoreFailed, last_seen_first

CHECKED_BYTES = 32 * 2**20
"""A file up to this size is checked as a whole when it is opened, which takes about 0.1 s."""


def default_path() -> Path:
    """Return the default path: ``$XDG_STATE_HOME/vixio/memory.db``."""
    return state_folder() / "memory.db"


class SQLiteStore(MemoryStore):
    """A SQLite file, readable by its owner alone. It and its directory are created if missing.

    Each operation is one transaction, and blocks the calling thread. They share a connection that
    stays open: when the last connection is closed, SQLite merges its log into the file, which costs
    more than a write.
    """

    name = "sqlite"

    def __init__(self, path: Path) -> None:
        self._path = path
        self.place = str(path)
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        """Device and inode of the open file."""

    async def open(self) -> None:
        await self.close()
        self._connection = self._connect()

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def trouble(self, error: Exception) -> Trouble:
        return trouble(error)

    async def load(self, key: str) -> Remembered:
        with self._reading() as tables:
            turns, summary = tables.items(key), tables.items(key + SUMMARY)
        return Remembered(to_turns(turns), to_summary(summary))

    async def save_turn(
        self, key: str, items: Sequence[HistoryItem], *, keep: int = 0, known: bool = False
    ) -> bool:
        with self._writing() as tables:
            as_known = not known or tables.any_items(key)
            tables.add(key, to_input_items(items))
            if keep:
                tables.trim(key, keep)
        return as_known

    async def unsave_turn(self, key: str, count: int) -> None:
        with self._writing() as tables:
            tables.pop(key, count)

    async def save_summary(self, key: str, summary: str, *, keep: int | None) -> None:
        with self._writing() as tables:
            if summary:
                tables.replace(key + SUMMARY, summary_item(summary))
            else:
                tables.erase(key + SUMMARY)
            if keep is not None:
                tables.trim(key, keep)
        if keep is None:
            self._empty_log()  # somebody wants the former words gone

    async def load_facts(self, key: str) -> Sequence[str]:
        with self._reading() as tables:
            return to_facts(tables.items(key + FACTS))

    async def save_facts(self, key: str, facts: Sequence[str]) -> None:
        await self.change_facts(key, lambda _: list(facts))

    async def change_facts(self, key: str, change: ChangeFacts) -> Sequence[str]:
        with self._writing() as tables:
            before = to_facts(tables.items(key + FACTS))
            after = change(before)
            if after == before:
                return before
            if after:
                tables.replace(key + FACTS, facts_item(after))
            else:
                tables.erase(key + FACTS)
        self._empty_log()
        return before

    async def clear(self, key: str) -> bool:
        with self._writing() as tables:
            erased = [tables.erase(session_id) for session_id in (key, key + SUMMARY, key + FACTS)]
        self._empty_log()
        return any(erased)

    async def known(self) -> Sequence[Known]:
        with self._reading() as tables:
            return last_seen_first(tables.sessions())

    def _reading(self) -> AbstractContextManager[Tables]:
        return self._transaction(lambda connection: connection.execute("BEGIN"))

    def _writing(self) -> AbstractContextManager[Tables]:
        return self._transaction(begin_to_write)

    @contextmanager
    def _transaction(self, begin: Callable[[sqlite3.Connection], object]) -> Iterator[Tables]:
        connection = self._current()
        with connection:  # commits, or rolls back
            begin(connection)
            yield Tables(connection)

    def _empty_log(self) -> None:
        """Empty the write-ahead log, which still contains deleted data."""
        self._current().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _current(self) -> sqlite3.Connection:
        """Return the connection, to a new file if the open one was deleted or moved away."""
        if self._connection is None:
            raise StoreFailed("the store is closed")
        if file_identity(self._path) != self._file:
            self._connection.close()
            self._connection = self._connect()
        return self._connection

    def _connect(self) -> sqlite3.Connection:
        """Raises StoreFailed."""
        try:
            connection = open_file(self._path)
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
        except (OSError, sqlite3.Error) as error:
            raise StoreFailed(self._explain(error)) from error
        self._file = file_identity(self._path)
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        if self._path.stat().st_size <= CHECKED_BYTES:
            with closing(connection.execute("PRAGMA quick_check(1)")) as found:
                (verdict,) = found.fetchone()
            if verdict != "ok":
                raise sqlite3.DatabaseError(str(verdict).splitlines()[0])
        Tables(connection).create()

    def _explain(self, error: Exception) -> str:
        reason = getattr(error, "strerror", None) or str(error)
        remedy = "set memory.path to a place that can be written to, or memory.store to none"
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(
            error, sqlite3.OperationalError
        ):
            remedy = "the file is damaged or no SQLite file: move it away, and a new one is made"
        return f"{self._path}: {reason}; {remedy}"

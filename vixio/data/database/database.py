"""The interface of a database, for plain SQL that SQLite and PostgreSQL have in common.

Statements name their parameters, as ``:device_id``; each database translates them into its own
spelling. Times are integers, milliseconds since 1970 in UTC; flags are the integers 0 and 1; lists
and mappings are JSON in a text. What differs between the two is in :class:`Transaction`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Literal

from vixio.core.well_formed import well_formed
from vixio.data.database.link import Failed, Trouble

IO_TIMEOUT_S: Final = 5.0
"""For one answer of a database; a slower one is treated as a failure."""

IN_PROCESS: Final = "none"
"""In place of a URL: a database that ends with the process."""

Value = str | int | float | bytes | None
Row = Mapping[str, Any]
"""The values of a row by the names of its columns."""

_PARAMETER = re.compile(r"(?<![:\w]):([a-z_][a-z0-9_]*)")
_ONLY = re.compile(r"-- (sqlite|postgresql)\n")
"""Before a statement of a script: for this database alone."""


class DatabaseFailed(Failed):
    """The database cannot be used."""


class Transaction(ABC):
    """An open transaction. It ends with the context of :meth:`Database.transaction`.

    The door of the database: a text comes in as :func:`storable` has it.
    """

    dialect: Literal["sqlite", "postgresql"]

    async def fetch(self, sql: str, **values: Value) -> Sequence[Row]:
        """Run one statement and return its rows."""
        return await self._fetch(sql, {name: storable(each) for name, each in values.items()})

    async def execute(self, sql: str, **values: Value) -> int:
        """Run one statement; return how many rows it changed."""
        return await self._execute(sql, {name: storable(each) for name, each in values.items()})

    @abstractmethod
    async def _fetch(self, sql: str, values: Mapping[str, Value]) -> Sequence[Row]: ...

    @abstractmethod
    async def _execute(self, sql: str, values: Mapping[str, Value]) -> int: ...

    @abstractmethod
    async def lock(self, name: str) -> None:
        """Wait until no other writer of any process holds the lock ``name``; hold it to the end.

        SQLite has one writer at a time anyway.
        """

    @abstractmethod
    async def tables(self) -> Sequence[str]:
        """Return the names of all tables."""

    async def fetch_one(self, sql: str, **values: Value) -> Row | None:
        """Run one statement and return its first row; None if there is none."""
        rows = await self.fetch(sql, **values)
        return rows[0] if rows else None

    async def script(self, sql: str) -> None:
        """Run the statements of a text, without parameters; each ends with ``;`` and a new line.

        ``-- sqlite`` or ``-- postgresql`` in the line before one: it is for that database alone.
        """
        for statement in sql.split(";\n"):
            only = _ONLY.match(statement.lstrip())
            if statement.strip() and (only is None or only[1] == self.dialect):
                await self.execute(statement)


class Database(ABC):
    """A database. A method may raise any error of its driver, and may block its thread.

    :class:`~vixio.data.database.link.Link` handles both.
    """

    place: str
    """Where it is, for messages; without secrets."""
    upgrade: Callable[[Database], Awaitable[None]] | None = None
    """Done whenever it was opened, when its tables are of the newest version."""

    @abstractmethod
    async def open(self) -> None:
        """Connect, and bring the tables to the newest version. May be called again."""

    @abstractmethod
    async def close(self) -> None:
        """Disconnect. Idempotent."""

    @abstractmethod
    def transaction(self, *, write: bool = True) -> AbstractAsyncContextManager[Transaction]:
        """Begin a transaction; it is committed at the end of the context, or rolled back by an
        error in it. ``write`` false: for reading alone."""

    @abstractmethod
    def trouble(self, error: Exception) -> Trouble:
        """Return what an error of the driver, or of what was done in a transaction, says."""

    async def purge(self) -> None:  # noqa: B027 - optional
        """Remove from the disk what transactions have deleted, as far as the database can."""

    @abstractmethod
    async def changed(self) -> bool:
        """Whether another connection may have written since the last call. Cheap.

        What this one has written does not count.
        """


def storable(value: Value) -> Value:
    """Return a value as every database takes it: U+FFFD stands for half of a surrogate pair, and
    for NUL, which PostgreSQL has no place for."""
    return well_formed(value).replace("\0", "\ufffd") if isinstance(value, str) else value


def numbered(sql: str, values: Mapping[str, Value]) -> tuple[str, list[Value]]:
    """Return ``sql`` with ``$1``, ``$2`` … for its parameters, and their values in that order."""
    names: list[str] = []

    def number(match: re.Match[str]) -> str:
        name = match[1]
        if name not in names:
            names.append(name)
        return f"${names.index(name) + 1}"

    text = _PARAMETER.sub(number, sql)
    return text, [values[name] for name in names]

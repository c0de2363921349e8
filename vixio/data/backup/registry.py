"""The tables of the registry as JSON lines: from SQLite or PostgreSQL, into either."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from vixio.data.backup.archive import BackupError
from vixio.data.database.database import Database, Transaction
from vixio.data.database.migrate import migrations, version_of

FIRST: Final = ("profiles", "people", "devices", "memories", "papers")
"""What other tables refer to comes before them."""

LEFT_OUT: Final = ("turn_sounds", "paper_index", "paper_vectors")
"""What users said, which is to be gone after some days, and what is made of documents again."""

_TABLE = re.compile(r"^CREATE TABLE (?:IF NOT EXISTS )?(\w+)", re.MULTILINE)
_COLUMN = re.compile(r"[a-z_][a-z0-9_]*")


def tables() -> Sequence[str]:
    """Return the tables that the migrations make, in an order in which they can be filled."""
    made = {name for step in migrations() for name in _TABLE.findall(step.sql)}
    return (*FIRST, *sorted(made.difference(FIRST)))


async def dump(database: Database) -> tuple[int, dict[str, Sequence[Mapping[str, Any]]]]:
    """Return the version of an open database, and the rows of each table, all of one moment."""
    version = await version_of(database)
    async with database.transaction(write=False) as transaction:
        there = set(await transaction.tables())
        return version, {
            table: await transaction.fetch(f"SELECT * FROM {table}")  # noqa: S608 - our tables
            for table in tables()
            if table in there and table not in LEFT_OUT
        }


async def check(database: Database, version: int) -> None:
    """Raise BackupError if an open registry is not empty, or older than the rows for it.

    ``version``: of the database that the rows are from.
    """
    async with database.transaction(write=False) as transaction:
        await _check(transaction, database.place, version)


async def _check(transaction: Transaction, place: str, version: int) -> None:
    if version > migrations()[-1].version:
        raise BackupError("the backup was written by a newer Vixio: update this one")
    for table in tables():
        if await transaction.fetch_one(f"SELECT 1 AS one FROM {table} LIMIT 1"):  # noqa: S608
            raise BackupError(
                f"{place} is not empty ({table}): restore into a new data folder or database, or "
                "move the old one away"
            )


async def load(
    database: Database, rows_of: Mapping[str, Iterable[Mapping[str, Any]]], version: int
) -> dict[str, int]:
    """Fill an open, empty registry in one transaction; return the number of rows by table.

    ``version``: as for :func:`check`. Raises BackupError.
    """
    loaded: dict[str, int] = {}
    async with database.transaction() as transaction:
        await _check(transaction, database.place, version)
        for table in tables():
            loaded[table] = await _fill(transaction, table, rows_of.get(table, ()))
    return loaded


async def _fill(transaction: Transaction, table: str, rows: Iterable[Mapping[str, Any]]) -> int:
    number = 0
    for row in rows:
        if not all(_COLUMN.fullmatch(column) for column in row):
            raise BackupError(f"unknown column in the backup's table {table}")
        columns = ", ".join(row)
        values = ", ".join(f":{column}" for column in row)
        await transaction.execute(
            f"INSERT INTO {table} ({columns}) VALUES ({values})",  # noqa: S608 - checked above
            **row,
        )
        number += 1
    return number

"""Brings a database to the newest version: numbered SQL files, each applied once, in order.

All that are missing are applied in one transaction under a lock, so that processes that start
together do not get in each other's way, and one that is killed leaves the old version.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

from vixio.data.database.database import Database, DatabaseFailed

LOCK: Final = "vixio.migrate"

_FILE = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")
_log = logging.getLogger(__name__)

_TABLE: Final = """
CREATE TABLE IF NOT EXISTS vixio_migrations (
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    applied_at BIGINT NOT NULL
)
"""


@dataclass(frozen=True, slots=True)
class Migration:
    """One step. ``version`` counts from 1."""

    version: int
    name: str
    sql: str


@cache
def migrations() -> Sequence[Migration]:
    """Return all steps, in order: the files of the folder ``migrations``."""
    folder = resources.files("vixio.data.database") / "migrations"
    found = [
        Migration(int(match[1]), match[2], file.read_text("utf-8"))
        for file in folder.iterdir()
        if (match := _FILE.fullmatch(file.name)) is not None
    ]
    return tuple(sorted(found, key=lambda each: each.version))


async def version_of(database: Database) -> int:
    """Return the version of an open database; 0: it is empty."""
    async with database.transaction(write=False) as transaction:
        if "vixio_migrations" not in await transaction.tables():
            return 0
        row = await transaction.fetch_one("SELECT MAX(version) AS version FROM vixio_migrations")
    return int(row["version"] or 0) if row else 0


async def migrate(database: Database, steps: Sequence[Migration] | None = None) -> None:
    """Apply what is missing. ``steps`` None: all of this version of Vixio.

    Raises DatabaseFailed for a database of a newer version.
    """
    steps = migrations() if steps is None else steps
    await _migrate(database, steps)
    if database.upgrade is not None:
        await database.upgrade(database)


async def _migrate(database: Database, steps: Sequence[Migration]) -> None:
    newest = steps[-1].version if steps else 0
    if await version_of(database) == newest:
        return
    async with database.transaction() as transaction:
        await transaction.lock(LOCK)
        await transaction.execute(_TABLE)
        row = await transaction.fetch_one("SELECT MAX(version) AS version FROM vixio_migrations")
        have = int(row["version"] or 0) if row else 0
        if have > newest:
            raise DatabaseFailed(
                f"{database.place}: written by a newer Vixio (its version {have}, this one knows "
                f"{newest}): update Vixio, or restore a backup from before"
            )
        for step in steps:
            if step.version > have:
                await transaction.script(step.sql)
                await transaction.execute(
                    "INSERT INTO vixio_migrations (version, name, applied_at) "
                    "VALUES (:version, :name, :at)",
                    version=step.version,
                    name=step.name,
                    at=round(time.time() * 1000),
                )
    if 0 < have < newest:  # and not by another process meanwhile
        _log.info("database migrated", extra={"from_version": have, "to_version": newest})

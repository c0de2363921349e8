"""Makes the configured database. The driver is imported when it is made."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Final

from vixio.core.errors import ConfigError
from vixio.core.extras import how_to_install
from vixio.data.database.database import IN_PROCESS, Database

FILE_NAME: Final = "vixio.db"
"""The SQLite file in the data folder."""


def check_database(url: str) -> None:
    """Raise ConfigError if a package for the database is not installed. Imports nothing."""
    if url not in ("", IN_PROCESS) and find_spec("asyncpg") is None:
        raise ConfigError(f"data.database: PostgreSQL needs: {how_to_install('postgresql')}")


def make_database(folder: Path, url: str) -> Database:
    """Return the database at ``url``, else the SQLite file in ``folder``; not opened yet."""
    if url not in ("", IN_PROCESS):
        from vixio.data.database.postgresql import PostgreSQLDatabase

        return PostgreSQLDatabase(url)
    from vixio.data.database.sqlite import SQLiteDatabase

    return SQLiteDatabase(None if url else folder / FILE_NAME)

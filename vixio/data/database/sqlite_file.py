"""A SQLite file that several processes read and write: how it is opened, how a writer begins."""

from __future__ import annotations

import os
import random
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from vixio.data.database.database import IO_TIMEOUT_S
from vixio.data.database.link import Trouble
from vixio.data.database.paths import make_private_folder

TRY_S: Final = 0.001
"""Between two tries, on average. SQLite's own pauses grow to 0.1 s: beside a process that writes
without a pause, which leaves the file free for a moment only, a writer may find none for seconds.
"""

_OUTAGES: Final = {
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_SCHEMA,
    sqlite3.SQLITE_NOLFS,
    sqlite3.SQLITE_AUTH,
    sqlite3.SQLITE_NOTADB,
}
"""Of the file and of who else uses it (https://www.sqlite.org/rescode.html)."""

_FULL: Final = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR_WRITE,
    sqlite3.SQLITE_IOERR_SHMSIZE,
}


def trouble(error: Exception) -> Trouble:
    """Return what an error says of a SQLite file."""
    code = getattr(error, "sqlite_errorcode", None)  # those of the module itself have none
    if not isinstance(error, sqlite3.Error) or code is None:
        return Trouble.DATA
    if code in _FULL:
        return Trouble.FULL
    return Trouble.OUTAGE if code & 0xFF in _OUTAGES else Trouble.DATA


def open_file(path: Path) -> sqlite3.Connection:
    """Open a file that its owner alone can read; it and its folder are created if missing.

    Readers do not wait for a writer (WAL), deleted data is overwritten, and transactions begin when
    they are told to. Raises OSError or sqlite3.Error.
    """
    make_private_folder(path.parent)
    # Only if missing: closing a file drops every lock that this process has on it (POSIX).
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    connection = sqlite3.connect(path, timeout=IO_TIMEOUT_S, isolation_level=None)
    try:
        # Of two processes that open a new file together, SQLite lets one fail at once.
        _when_free(connection, "PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA secure_delete=ON").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def begin_to_write(connection: sqlite3.Connection) -> None:
    """Begin a transaction once no other writes, within :data:`IO_TIMEOUT_S`.

    Blocks. Raises sqlite3.OperationalError. After BEGIN alone, a write that follows a read does not
    wait for other processes.
    """
    connection.execute("PRAGMA busy_timeout=0").fetchall()
    try:
        _when_free(connection, "BEGIN IMMEDIATE")
    finally:
        connection.execute(f"PRAGMA busy_timeout={round(IO_TIMEOUT_S * 1000)}").fetchall()


def _when_free(connection: sqlite3.Connection, sql: str) -> None:
    until = time.monotonic() + IO_TIMEOUT_S
    while True:
        try:
            connection.execute(sql).fetchall()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(random.uniform(0, 2 * TRY_S))  # noqa: S311 - no secret
        else:
            return

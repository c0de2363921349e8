"""The default: one SQLite file on this machine, through the SDK's ``SQLiteSession``."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from vixio.core.imports import sdk_import
from vixio.memory.store import IO_TIMEOUT_S, SessionStore, StoreFailed

if TYPE_CHECKING:
    from agents.memory import Session

T = TypeVar("T")

SESSIONS = "vixio_sessions"
MESSAGES = "vixio_messages"

CHECKED_BYTES = 32 * 2**20
"""A file up to this size is checked as a whole when it is opened, which takes about 0.1 s."""


def default_path() -> Path:
    """Return the default path: ``$XDG_STATE_HOME/vixio/memory.db``."""
    state = os.environ.get("XDG_STATE_HOME", "")
    # "All paths set in these environment variables must be absolute", else ignored (XDG 0.8).
    base = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
    return base / "vixio" / "memory.db"


class SQLiteStore(SessionStore):
    """A SQLite file, readable by its owner alone. It and its directory are created if missing."""

    name = "sqlite"

    def __init__(self, path: Path) -> None:
        self._path = path
        self.place = str(path)
        self._own: sqlite3.Connection | None = None

    async def open(self) -> None:
        await self.close()
        try:
            await asyncio.to_thread(_load_sdk)
            self._own = await asyncio.to_thread(self._connect)
        except (OSError, sqlite3.Error) as error:
            raise StoreFailed(self._explain(error)) from error
        # The session creates its tables. Importing the SDK takes most of the time.
        try:
            async with self.session("") as session:
                await session.get_items(limit=1)
        except sqlite3.Error as error:
            raise StoreFailed(self._explain(error)) from error

    async def close(self) -> None:
        own, self._own = self._own, None
        if own is not None:
            await asyncio.to_thread(own.close)

    @asynccontextmanager
    async def session(self, session_id: str) -> AsyncIterator[Session]:
        from agents.memory import SQLiteSession

        # One per use: a session keeps a connection open, and there may be thousands of devices.
        session = SQLiteSession(session_id, self._path, SESSIONS, MESSAGES)
        try:
            yield session
        finally:
            session.close()

    async def trim(self, session_id: str, keep: int) -> None:
        def delete(own: sqlite3.Connection) -> None:
            own.execute(
                f"DELETE FROM {MESSAGES} WHERE session_id = ? AND id <= ("  # noqa: S608 - our name
                f"SELECT id FROM {MESSAGES} WHERE session_id = ? "
                "ORDER BY id DESC LIMIT 1 OFFSET ?)",
                (session_id, session_id, keep),
            )

        await self._run(delete)

    async def erase(self, session_id: str) -> None:
        """Delete a session, on a connection that overwrites deleted data."""

        def delete(own: sqlite3.Connection) -> None:
            for table in (MESSAGES, SESSIONS):
                own.execute(
                    f"DELETE FROM {table} WHERE session_id = ?",  # noqa: S608 - our name
                    (session_id,),
                )

        await self._run(delete)

    async def settle(self) -> None:
        """Empty the write-ahead log, which still contains the old pages."""
        await self._run(lambda own: own.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())

    async def sessions(self) -> Iterable[tuple[str, float]]:
        def read(own: sqlite3.Connection) -> list[tuple[str, str]]:
            rows = own.execute(f"SELECT session_id, updated_at FROM {SESSIONS}")  # noqa: S608
            return rows.fetchall()

        return [(session_id, _seconds(at)) for session_id, at in await self._run(read)]

    async def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        own = self._own
        if own is None:
            raise StoreFailed("the store is closed")

        def transaction() -> T:
            with own:  # commits, or rolls back
                return work(own)

        return await asyncio.to_thread(transaction)

    def _connect(self) -> sqlite3.Connection:
        """Open the connection for operations that the SDK has no method for.

        It stays open: when the last connection is closed, SQLite merges its log into the file,
        which costs more than a write.
        """
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        own = sqlite3.connect(self._path, timeout=IO_TIMEOUT_S, check_same_thread=False)
        try:
            own.execute("PRAGMA journal_mode=WAL").fetchall()
            own.execute("PRAGMA secure_delete=ON").fetchall()
            if self._path.stat().st_size <= CHECKED_BYTES:
                with closing(own.execute("PRAGMA quick_check(1)")) as found:
                    (verdict,) = found.fetchone()
                if verdict != "ok":
                    raise sqlite3.DatabaseError(str(verdict).splitlines()[0])
        except BaseException:
            own.close()
            raise
        return own

    def _explain(self, error: Exception) -> str:
        reason = getattr(error, "strerror", None) or str(error)
        remedy = "set memory.path to a place that can be written to, or memory.store to none"
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(
            error, sqlite3.OperationalError
        ):
            remedy = "the file is damaged or no SQLite file: move it away, and a new one is made"
        return f"{self._path}: {reason}; {remedy}"


def _seconds(timestamp: str) -> float:
    """Parse SQLite's CURRENT_TIMESTAMP, which is UTC; an invalid one counts as long ago."""
    try:
        return datetime.fromisoformat(timestamp).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0


def _load_sdk() -> None:
    with sdk_import():
        import agents.memory  # noqa: F401 - under the lock: two threads must not import it at once

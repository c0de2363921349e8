"""The tables of the SQLite store.

Tables, columns and items are those of ``SQLiteSession`` of the agent SDK (``agents.memory``), so
that each reads what the other has written.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime

from vixio.data.memory.records import InputItem

_SCHEMA = (
    """
    CREATE TABLE IF NOT EXISTS vixio_sessions (
        session_id TEXT PRIMARY KEY,
        created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
        updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS vixio_messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session_id TEXT NOT NULL,
        message_data TEXT NOT NULL,
        created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
        FOREIGN KEY (session_id) REFERENCES vixio_sessions (session_id) ON DELETE CASCADE
    )
    """,
    """
    CREATE INDEX IF NOT EXISTS idx_vixio_messages_session_id
    ON vixio_messages (session_id, id)
    """,
)


class Tables:
    """Sessions of items, each item one message as JSON. Transactions are up to the caller."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def create(self) -> None:
        """Create what is missing."""
        for statement in _SCHEMA:
            self._connection.execute(statement)

    def sessions(self) -> list[tuple[str, float]]:
        """Return the ids of all sessions, and the time of each one's last write (epoch seconds)."""
        rows = self._connection.execute("SELECT session_id, updated_at FROM vixio_sessions")
        return [(session_id, _seconds(at)) for session_id, at in rows]

    def items(self, session_id: str) -> list[InputItem]:
        """Return the items of a session, oldest first, without those that are not JSON objects."""
        rows = self._connection.execute(
            "SELECT message_data FROM vixio_messages WHERE session_id = ? ORDER BY id",
            (session_id,),
        )
        return [item for (data,) in rows if (item := _item(data)) is not None]

    def any_items(self, session_id: str) -> bool:
        """Return whether a session has items."""
        rows = self._connection.execute(
            "SELECT 1 FROM vixio_messages WHERE session_id = ? LIMIT 1", (session_id,)
        )
        return bool(rows.fetchall())

    def add(self, session_id: str, items: Iterable[InputItem]) -> None:
        """Add items to a session, which is created if missing."""
        self._connection.execute(
            "INSERT OR IGNORE INTO vixio_sessions (session_id) VALUES (?)", (session_id,)
        )
        self._connection.executemany(
            "INSERT INTO vixio_messages (session_id, message_data) VALUES (?, ?)",
            # As ASCII: SQLite's text cannot hold half of a surrogate pair.
            [(session_id, json.dumps(item)) for item in items],
        )
        self._connection.execute(
            "UPDATE vixio_sessions SET updated_at = CURRENT_TIMESTAMP WHERE session_id = ?",
            (session_id,),
        )

    def replace(self, session_id: str, item: InputItem) -> None:
        """Make ``item`` the only one of a session."""
        self.trim(session_id, 0)
        self.add(session_id, [item])

    def trim(self, session_id: str, keep: int) -> None:
        """Delete all but the last ``keep`` items of a session."""
        self._connection.execute(
            "DELETE FROM vixio_messages WHERE session_id = ? AND id <= ("
            "SELECT id FROM vixio_messages WHERE session_id = ? ORDER BY id DESC LIMIT 1 OFFSET ?)",
            (session_id, session_id, keep),
        )

    def pop(self, session_id: str, count: int) -> None:
        """Delete the last ``count`` items of a session."""
        self._connection.execute(
            "DELETE FROM vixio_messages WHERE id IN ("
            "SELECT id FROM vixio_messages WHERE session_id = ? ORDER BY id DESC LIMIT ?)",
            (session_id, count),
        )

    def erase(self, session_id: str) -> bool:
        """Delete a session; return false if it had no items."""
        deleted = self._connection.execute(
            "DELETE FROM vixio_messages WHERE session_id = ?", (session_id,)
        )
        self._connection.execute("DELETE FROM vixio_sessions WHERE session_id = ?", (session_id,))
        return deleted.rowcount > 0


def _item(data: str) -> InputItem | None:
    try:
        item = json.loads(data)
    except (ValueError, TypeError):
        return None
    return item if isinstance(item, dict) else None


def _seconds(timestamp: str) -> float:
    """Parse SQLite's CURRENT_TIMESTAMP, which is UTC; an invalid one counts as long ago."""
    try:
        return datetime.fromisoformat(timestamp).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0

"""What the server, commands and the API do with the turns on record, each in one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from vixio.conversations.records import ConversationRecord, TurnRecord
from vixio.database.database import Database

_COLUMNS = "id, device_id, session_id, turn, at, heard, said, outcome, error, stages, tools, models"


class ConversationDesk:
    """The operations on an open database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def write(self, turns: Sequence[TurnRecord], *, before: int = 0) -> None:
        """Add turns, and remove those that began before then. Once more changes nothing."""
        values = ", ".join(f":{name}" for name in _COLUMNS.split(", "))
        async with self._database.transaction() as transaction:
            for turn in turns:
                await transaction.execute(
                    f"INSERT INTO turns ({_COLUMNS}) VALUES ({values}) "  # noqa: S608 - constants
                    "ON CONFLICT (id) DO NOTHING",
                    **turn.row(),
                )
            if before:
                await transaction.execute("DELETE FROM turns WHERE at < :before", before=before)

    async def conversations(
        self, device_id: str = "", *, limit: int = 100, offset: int = 0
    ) -> Sequence[ConversationRecord]:
        """Return the conversations of a device, or of all, the newest first."""
        async with self._database.transaction(write=False) as transaction:
            rows = await transaction.fetch(
                "SELECT session_id, device_id, MIN(at) AS began_at, MAX(at) AS last_at, "
                "COUNT(*) AS turns FROM turns "
                "WHERE CAST(:device_id AS TEXT) IN ('', device_id) "
                "GROUP BY session_id, device_id ORDER BY MAX(at) DESC, session_id "
                "LIMIT :limit OFFSET :offset",
                device_id=device_id,
                limit=limit,
                offset=offset,
            )
        return [ConversationRecord.of(row) for row in rows]

    async def turns(self, session_id: str) -> Sequence[TurnRecord]:
        """Return the turns of a conversation, in their order."""
        return await self._turns("session_id = :key ORDER BY turn", session_id)

    async def export(self, device_id: str) -> Sequence[TurnRecord]:
        """Return all turns of a device, oldest first."""
        return await self._turns("device_id = :key ORDER BY at, turn", device_id)

    async def erase(self, device_id: str, session_id: str = "") -> int:
        """Remove the turns of a device, or of one of its conversations; return how many."""
        async with self._database.transaction() as transaction:
            return await transaction.execute(
                "DELETE FROM turns WHERE device_id = :device_id "
                "AND CAST(:session_id AS TEXT) IN ('', session_id)",
                device_id=device_id,
                session_id=session_id,
            )

    async def _turns(self, where: str, key: str) -> Sequence[TurnRecord]:
        async with self._database.transaction(write=False) as transaction:
            rows = await transaction.fetch(
                f"SELECT * FROM turns WHERE {where}",  # noqa: S608 - from above
                key=key,
            )
        return [TurnRecord.of(row) for row in rows]

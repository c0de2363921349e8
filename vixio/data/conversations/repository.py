"""What the server, commands and the API do with the turns on record, each in one transaction."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, Self

from vixio.data.conversations.records import ConversationRecord, TurnRecord
from vixio.data.database.database import Database

_COLUMNS = (
    "id, device_id, session_id, turn, at, heard, guess, said, outcome, error, stages, tools, "
    "models, profile, wait_ms, input_tokens, output_tokens"
)

PART: Final = 100
"""Turns that are read at a time: a device may have thousands, and other work goes on between."""

# The newest conversations are found by their last turns, along an index from its end: to group all
# turns took the database's thread 0.7 s with a million of them.
_LISTED: Final = (
    "SELECT last.session_id, last.device_id, MIN(turns.at) AS began_at, MAX(turns.at) AS last_at, "
    "COUNT(*) AS turns FROM ("
    "SELECT session_id, device_id, at FROM turns AS each WHERE {which}NOT EXISTS ("
    "SELECT 1 FROM turns AS later "
    "WHERE later.session_id = each.session_id AND later.turn > each.turn) "
    "ORDER BY at DESC, session_id LIMIT :limit OFFSET :offset"
    ") AS last JOIN turns ON turns.session_id = last.session_id "
    "GROUP BY last.session_id, last.device_id ORDER BY MAX(turns.at) DESC, last.session_id"
)
_OF_ALL: Final = _LISTED.format(which="")
_OF_DEVICE: Final = _LISTED.format(which="device_id = :device_id AND ")

_PART: Final = (
    "SELECT * FROM turns WHERE {column} = :key AND (at, turn, session_id) > (:at, :turn, :session) "
    "ORDER BY at, turn, session_id LIMIT :limit"
)


class Turns(NamedTuple):
    """Which turns: those of a device, or of a conversation."""

    column: Literal["device_id", "session_id"]
    key: str

    @classmethod
    def of_device(cls, device_id: str) -> Self:
        """Return all turns of a device."""
        return cls("device_id", device_id)

    @classmethod
    def of_session(cls, session_id: str) -> Self:
        """Return the turns of a conversation."""
        return cls("session_id", session_id)


class ConversationRepository:
    """The operations on an open database."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def write(self, turns: Sequence[TurnRecord], *, before: int = 0) -> None:
        """Add turns, and remove those that began before then. Once more changes nothing."""
        values = ", ".join(f":{name}" for name in _COLUMNS.split(", "))
        async with self.database.transaction() as transaction:
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
        async with self.database.transaction(write=False) as transaction:
            rows = await transaction.fetch(
                _OF_DEVICE if device_id else _OF_ALL,
                limit=limit,
                offset=offset,
                **({"device_id": device_id} if device_id else {}),
            )
        return [ConversationRecord.of(row) for row in rows]

    async def last_turns(self, device_ids: Sequence[str]) -> dict[str, TurnRecord]:
        """Return the last turn of each of these devices of the registry that has one.

        An index finds each at once: 1000 devices with 100 turns each take some 30 ms.
        """
        if not device_ids:
            return {}
        names = {f"device{number}": each for number, each in enumerate(device_ids)}
        async with self.database.transaction(write=False) as transaction:
            rows = await transaction.fetch(
                "SELECT * FROM turns WHERE id IN (SELECT (SELECT id FROM turns AS one "  # noqa: S608 - constants
                "WHERE one.device_id = devices.id ORDER BY one.at DESC LIMIT 1) "
                f"FROM devices WHERE devices.id IN ({', '.join(f':{name}' for name in names)}))",
                **names,
            )
        turns = map(TurnRecord.of, rows)
        return {turn.device_id: turn for turn in turns}

    async def sessions(self, beginning: str, limit: int = 10) -> Sequence[str]:
        """Return the ids of conversations that begin so."""
        like = re.sub("([!%_])", r"!\1", beginning)
        async with self.database.transaction(write=False) as transaction:
            rows = await transaction.fetch(
                "SELECT DISTINCT session_id FROM turns WHERE session_id LIKE :like ESCAPE '!' "
                "ORDER BY session_id LIMIT :limit",
                like=f"{like}%",
                limit=limit,
            )
        return [row["session_id"] for row in rows]

    async def part(
        self, turns: Turns, after: TurnRecord | None = None, limit: int = PART
    ) -> Sequence[TurnRecord]:
        """Return the next ``limit`` turns behind ``after``, oldest first; none: that was all."""
        at, turn, session = (after.at, after.turn, after.session_id) if after else (-1, -1, "")
        async with self.database.transaction(write=False) as transaction:
            rows = await transaction.fetch(
                _PART.format(column=turns.column),
                key=turns.key,
                at=at,
                turn=turn,
                session=session,
                limit=limit,
            )
        return [TurnRecord.of(row) for row in rows]

    async def turns(self, turns: Turns) -> Sequence[TurnRecord]:
        """Return all of them, oldest first. There may be many: a server takes them in parts."""
        found: list[TurnRecord] = []
        while part := await self.part(turns, found[-1] if found else None):
            found += part
        return found

    async def erase(self, device_id: str, session_id: str = "") -> int:
        """Remove the turns of a device, or of one of its conversations; return how many."""
        async with self.database.transaction() as transaction:
            return await transaction.execute(
                "DELETE FROM turns WHERE device_id = :device_id "
                "AND CAST(:session_id AS TEXT) IN ('', session_id)",
                device_id=device_id,
                session_id=session_id,
            )

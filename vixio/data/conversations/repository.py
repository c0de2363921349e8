"""What the server, commands and the API do with the turns on record, each in one transaction."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple, Self

from vixio.core.wall_clock import now_ms
from vixio.data.conversations.records import SOUND_MS, ConversationRecord, TurnRecord
from vixio.data.database.audit import AuditTable
from vixio.data.database.database import Database, Row

_COLUMNS = (
    "id, device_id, session_id, turn, at, heard, guess, said, outcome, error, stages, tools, "
    "models, profile, wait_ms, input_tokens, output_tokens"
)

MAX_SOUND_BYTES: Final = 200_000_000
"""All sound together: more than an hour and a half. Then the oldest goes."""

_OVER: Final = (
    "DELETE FROM turn_sounds WHERE (SELECT SUM(size) FROM turn_sounds) > :most "
    "AND turn_id IN (SELECT turn_id FROM ("
    "SELECT turn_id, SUM(size) OVER (ORDER BY at DESC, turn_id DESC) AS size FROM turn_sounds"
    ") AS newest WHERE size > :most)"
)
"""The sum is known at once, by an index; to sort 2,000 of them takes some 5 ms."""

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
    f"SELECT *, {SOUND_MS} FROM turns "  # noqa: S608 - constants
    "WHERE {column} = :key AND (at, turn, session_id) > (:at, :turn, :session) "
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

    async def write(
        self, turns: Sequence[TurnRecord], sounds: Mapping[str, bytes] | None = None
    ) -> int:
        """Add turns, and the sounds (16 kHz s16 mono) of some, by their ids.

        Once more changes nothing. Return how many older sounds had to go for them.
        """
        values = ", ".join(f":{name}" for name in _COLUMNS.split(", "))
        async with self.database.transaction() as transaction:
            for turn in turns:
                await transaction.execute(
                    f"INSERT INTO turns ({_COLUMNS}) VALUES ({values}) "  # noqa: S608 - constants
                    "ON CONFLICT (id) DO NOTHING",
                    **turn.row(),
                )
                if sounds and turn.id in sounds:
                    await transaction.execute(
                        "INSERT INTO turn_sounds (turn_id, device_id, at, size, pcm) "
                        "VALUES (:id, :device_id, :at, :size, :pcm) "
                        "ON CONFLICT (turn_id) DO NOTHING",
                        id=turn.id,
                        device_id=turn.device_id,
                        at=turn.at,
                        size=len(sounds[turn.id]),
                        pcm=sounds[turn.id],
                    )
            return await transaction.execute(_OVER, most=MAX_SOUND_BYTES) if sounds else 0

    async def prune(self, before: int) -> Sequence[Row]:
        """Remove the turns that began before then, in milliseconds since 1970.

        Return the devices of which there is sound, as the registry knows them.
        """
        async with self.database.transaction() as transaction:
            await transaction.execute("DELETE FROM turns WHERE at < :before", before=before)
            return await transaction.fetch(
                "SELECT DISTINCT turn_sounds.device_id, client_id, board, firmware "
                "FROM turn_sounds LEFT JOIN devices ON devices.id = turn_sounds.device_id"
            )

    async def prune_sounds(self, before: Mapping[str, int]) -> None:
        """Remove the sound of devices from before then, in milliseconds since 1970."""
        gone = 0
        async with self.database.transaction() as transaction:
            for device_id, at in before.items():
                gone += await transaction.execute(
                    "DELETE FROM turn_sounds WHERE device_id = :device_id AND at < :at",
                    device_id=device_id,
                    at=at,
                )
        if gone:
            await self.database.purge()

    async def sound(self, session_id: str, turn: int) -> bytes | None:
        """Return what the user said in a turn, 16 kHz s16 mono; None: it is not there."""
        async with self.database.transaction(write=False) as transaction:
            row = await transaction.fetch_one(
                "SELECT pcm FROM turn_sounds WHERE turn_id = :id", id=f"{session_id}/{turn}"
            )
        return bytes(row["pcm"]) if row is not None else None

    async def erase_sound(self, session_id: str, turn: int, actor: str) -> bool:
        """Remove the sound of a turn; return whether it was there."""
        async with self.database.transaction() as transaction:
            row = await transaction.fetch_one(
                "DELETE FROM turn_sounds WHERE turn_id = :id RETURNING device_id",
                id=f"{session_id}/{turn}",
            )
            if row is None:
                return False
            target = f"device:{row['device_id']}"
            await AuditTable(transaction).add(now_ms(), actor, "sound erased", target)
        await self.database.purge()
        return True

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
                f"SELECT *, {SOUND_MS} FROM turns WHERE id IN ("  # noqa: S608 - constants
                "SELECT (SELECT id FROM turns AS one "
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
            gone = await transaction.execute(
                "DELETE FROM turns WHERE device_id = :device_id "
                "AND CAST(:session_id AS TEXT) IN ('', session_id)",
                device_id=device_id,
                session_id=session_id,
            )
        await self.database.purge()
        return gone

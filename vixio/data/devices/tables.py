"""The tables of the registry, in an open transaction. What may be done is decided above."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from vixio.data.database.database import Transaction, Value
from vixio.data.devices.records import (
    DeviceLine,
    DeviceRecord,
    PersonRecord,
    ProfileRecord,
    Standing,
)
from vixio.data.devices.token_table import TokenTable
from vixio.data.papers import index
from vixio.data.papers.records import owner_of

CODES: Final = "vixio.codes"
"""The lock of everything that gives out or takes back a code."""

PEOPLE: Final = "vixio.people"
"""The lock of everything that changes people."""

MOST: Final = 2**31 - 1
"""Rows: all of them, in the words of both databases."""

PART: Final = 100
"""Devices that are read by one statement: a thousand at once held the event loop up for 10 ms."""

_GRANTED: Final = (
    "(SELECT tokens.id FROM tokens WHERE tokens.device_id = devices.id "
    "AND substr(tokens.id, 17) = 'w' AND tokens.issued_at > 0 "
    "AND tokens.issued_at >= devices.tokens_from AND tokens.revoked_at IS NULL "
    "ORDER BY tokens.issued_at DESC, tokens.id LIMIT 1) AS granted"
)
"""The token that was issued with a code whose claim is the last that made tokens void."""

_DEVICES: Final = (
    f"SELECT devices.*, people.name AS person, {_GRANTED} FROM devices "  # noqa: S608 - from above
    "LEFT JOIN people ON people.id = devices.person_id"
)


class DeviceTable:
    """The devices."""

    def __init__(self, transaction: Transaction) -> None:
        self._in = transaction

    @property
    def tokens(self) -> TokenTable:
        """Their tokens, in the same transaction."""
        return TokenTable(self._in)

    async def hold(self, device_id: str) -> DeviceRecord | None:
        """Return a device, and keep other writers from it until the transaction ends."""
        await self._in.lock(f"vixio.device {device_id}")
        return await self.find(device_id)

    async def find(self, device_id: str) -> DeviceRecord | None:
        """Return a device; None for an unknown one."""
        row = await self._in.fetch_one(f"{_DEVICES} WHERE devices.id = :id", id=device_id)
        return DeviceRecord.of(row) if row else None

    async def by_code(self, code: str) -> DeviceRecord | None:
        """Return the device that has this code."""
        row = await self._in.fetch_one(f"{_DEVICES} WHERE code = :code", code=code)
        return DeviceRecord.of(row) if row else None

    async def all(self) -> Sequence[DeviceRecord]:
        """Return all devices, the last seen first."""
        return await self.part(limit=MOST)

    async def part(self, *, limit: int, offset: int = 0) -> Sequence[DeviceRecord]:
        """Return a part of the devices, the last seen first."""
        rows = await self._in.fetch(
            "SELECT id FROM devices ORDER BY last_seen DESC, id LIMIT :limit OFFSET :offset",
            limit=limit,
            offset=offset,
        )
        return await self.some([row["id"] for row in rows])

    async def lines(self) -> Sequence[DeviceLine]:
        """Return a line of each device, the last seen first."""
        rows = await self._in.fetch(
            "SELECT id, client_id, name, board, CASE WHEN blocked_at IS NOT NULL THEN 'blocked' "
            "WHEN claimed_at IS NOT NULL THEN 'claimed' ELSE 'unclaimed' END AS state "
            "FROM devices ORDER BY last_seen DESC, id"
        )
        return [DeviceLine(**row) for row in rows]

    async def some(self, ids: Sequence[str]) -> Sequence[DeviceRecord]:
        """Return these devices in this order; those that are no longer there are left out."""
        found: dict[str, DeviceRecord] = {}
        for start in range(0, len(ids), PART):
            part = {f"id{place}": each for place, each in enumerate(ids[start : start + PART])}
            named = ", ".join(f":{name}" for name in part)
            rows = await self._in.fetch(f"{_DEVICES} WHERE devices.id IN ({named})", **part)
            found |= {row["id"]: DeviceRecord.of(row) for row in rows}
        return [found[each] for each in ids if each in found]

    async def count(self) -> int:
        """Return how many devices there are."""
        row = await self._in.fetch_one("SELECT COUNT(*) AS number FROM devices")
        return int(row["number"]) if row else 0

    async def with_profile(self, profile: str, limit: int) -> tuple[Sequence[tuple[str, str]], int]:
        """Return id and name of devices that have a profile, and how many there are in all."""
        rows = await self._in.fetch(
            "SELECT id, name FROM devices WHERE profile = :profile ORDER BY id LIMIT :limit",
            profile=profile,
            limit=limit,
        )
        total = await self._in.fetch_one(
            "SELECT COUNT(*) AS number FROM devices WHERE profile = :profile", profile=profile
        )
        return [(row["id"], row["name"]) for row in rows], int(total["number"]) if total else 0

    async def called(self, name: str) -> Sequence[str]:
        """Return the ids of the devices with a name, whatever its case; no name: of none."""
        wanted = name.casefold()
        # Folded here: SQLite folds ASCII alone.
        rows = await self._in.fetch("SELECT id, name FROM devices WHERE name <> '' ORDER BY id")
        return [row["id"] for row in rows if row["name"].casefold() == wanted]

    async def standings(self) -> dict[str, Standing]:
        """Return what decides about each device, by its id."""
        rows = await self._in.fetch(
            f"SELECT {_GRANTED}, id, name, place, carrier, profile, role, person_id, client_id, "  # noqa: S608 - from above
            "claimed_at, blocked_at, block_reason, tokens_from, "
            "CASE WHEN hmac_key <> '' AND verified_at IS NULL THEN 1 ELSE 0 END AS unproven "
            "FROM devices"
        )
        return {
            row["id"]: Standing(
                client_id=row["client_id"],
                claimed=row["claimed_at"] is not None,
                blocked=None if row["blocked_at"] is None else row["block_reason"],
                unproven=bool(row["unproven"]),
                tokens_from=row["tokens_from"],
                granted=row["granted"] or "",
                name=row["name"],
                place=row["place"],
                profile=row["profile"] or "",
                role=row["role"] or "",
                person=row["person_id"] or "",
                carrier=row["carrier"],
            )
            for row in rows
        }

    async def add(self, device_id: str, at: int, *, seen: bool = True) -> None:
        """Add a device that is not there."""
        await self._in.execute(
            "INSERT INTO devices (id, first_seen, last_seen) VALUES (:id, :at, :seen)",
            id=device_id,
            at=at,
            seen=at if seen else 0,
        )

    async def set(self, device_id: str, **values: Value | Sequence[str]) -> None:
        """Change columns of a device. Sequences are stored as JSON."""
        plain: dict[str, Value] = {
            name: value
            if isinstance(value, str | int | float | bytes | None)
            else json.dumps(list(value), ensure_ascii=False)
            for name, value in values.items()
        }
        columns = ", ".join(f"{name} = :{name}" for name in plain)
        await self._in.execute(
            f"UPDATE devices SET {columns} WHERE id = :id",  # noqa: S608 - names of columns
            id=device_id,
            **plain,
        )

    async def give(self, device_id: str, person_id: str) -> bool:
        """Let a device belong to a person; empty: to nobody. Return false for an unknown person."""
        await self._in.lock(PEOPLE)
        if person_id and not await self._in.fetch_one(
            "SELECT id FROM people WHERE id = :id", id=person_id
        ):
            return False
        await self.set(device_id, person_id=person_id or None)
        return True

    async def remove(self, device_id: str) -> bool:
        """Remove a device with its tokens, its turns, and what was to be said to it.

        Return false for an unknown one.
        """
        for table in ("daily_turns", "deliveries", "turns"):
            await self._in.execute(
                f"DELETE FROM {table} WHERE device_id = :id",  # noqa: S608 - from above
                id=device_id,
            )
        return bool(await self._in.execute("DELETE FROM devices WHERE id = :id", id=device_id))

    async def shed(self, keep: int) -> int:
        """Remove unclaimed devices beyond the ``keep`` last seen; return how many."""
        return await self._in.execute(
            "DELETE FROM devices WHERE id IN (SELECT id FROM devices "
            "WHERE claimed_at IS NULL AND blocked_at IS NULL AND name = '' "
            "AND person_id IS NULL "
            "ORDER BY last_seen DESC, id LIMIT 1000 OFFSET :keep)",
            keep=keep,
        )

    async def wrong_code(self, actor: str, at: int) -> None:
        """Note that somebody entered a code that no device has."""
        await self._in.execute(
            "INSERT INTO wrong_codes (actor, at) VALUES (:actor, :at)", actor=actor, at=at
        )

    async def wrong_codes(self, actor: str, since: int) -> Sequence[int]:
        """Return the times of an actor's wrong codes since then, oldest first; older ones go."""
        await self._in.execute("DELETE FROM wrong_codes WHERE at < :since", since=since)
        rows = await self._in.fetch(
            "SELECT at FROM wrong_codes WHERE actor = :actor ORDER BY at", actor=actor
        )
        return [row["at"] for row in rows]


class ProfileTable:
    """The profiles."""

    def __init__(self, transaction: Transaction) -> None:
        self._in = transaction

    async def all(self) -> Sequence[ProfileRecord]:
        """Return all profiles, by name."""
        rows = await self._in.fetch("SELECT * FROM profiles ORDER BY name")
        return [ProfileRecord.of(row) for row in rows]

    async def find(self, name: str) -> ProfileRecord | None:
        """Return a profile; None for an unknown one."""
        row = await self._in.fetch_one("SELECT * FROM profiles WHERE name = :name", name=name)
        return ProfileRecord.of(row) if row else None

    async def put(self, name: str, content: Mapping[str, Any], at: int) -> None:
        """Add a profile, or replace it."""
        await self._in.execute(
            "INSERT INTO profiles (name, content, changed_at) VALUES (:name, :content, :at) "
            "ON CONFLICT (name) DO UPDATE SET content = excluded.content, "
            "changed_at = excluded.changed_at",
            name=name,
            content=json.dumps(content, ensure_ascii=False),
            at=at,
        )

    async def remove(self, name: str) -> bool:
        """Remove a profile; its devices have none then. Return false for an unknown one."""
        return bool(await self._in.execute("DELETE FROM profiles WHERE name = :name", name=name))


class PersonTable:
    """The people."""

    def __init__(self, transaction: Transaction) -> None:
        self._in = transaction

    async def all(self) -> Sequence[PersonRecord]:
        """Return all people, by name."""
        rows = await self._in.fetch("SELECT * FROM people ORDER BY name")
        return [PersonRecord.of(row) for row in rows]

    async def devices(self) -> dict[str, list[str]]:
        """Return the ids of the devices that belong to somebody, by the person's id."""
        rows = await self._in.fetch(
            "SELECT id, person_id FROM devices WHERE person_id IS NOT NULL ORDER BY id"
        )
        owned: dict[str, list[str]] = {}
        for row in rows:
            owned.setdefault(row["person_id"], []).append(row["id"])
        return owned

    async def add(self, person: PersonRecord) -> None:
        """Add a person that is not there."""
        await self._in.execute(
            "INSERT INTO people (id, name, added_at) VALUES (:id, :name, :added_at)",
            id=person.id,
            name=person.name,
            added_at=person.added_at,
        )

    async def rename(self, person_id: str, name: str) -> None:
        """Change a person's name."""
        await self._in.execute(
            "UPDATE people SET name = :name WHERE id = :id", id=person_id, name=name
        )

    async def remove(self, person_id: str) -> None:
        """Remove a person, whom no device belongs to then, with the person's documents."""
        await index.erase(self._in, "owner = :owner", owner=owner_of(person=person_id))
        await self._in.execute("DELETE FROM people WHERE id = :id", id=person_id)

"""The table ``deliveries``, in an open transaction. What may be done is decided above."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from vixio.core.session.speech import Priority
from vixio.data.database.database import Transaction, Value
from vixio.data.reminders.records import ASKED, WAITING, Delivery, Kind, State, of_rows

FINAL: Final = tuple(state for state in State if state not in (*WAITING, State.SPEAKING))

_FREE: Final = "(state = 'pending' OR (state = 'claimed' AND lease_until <= :now))"
"""Nobody is about to say it."""

_ASKED: Final = (
    f"(priority = {Priority.HIGH:d} OR kind IN ({', '.join(repr(each.value) for each in ASKED)}))"
)

_DUE: Final = f"""
SELECT device_id, {_ASKED} AS asked, shown_at IS NOT NULL AS shown,
MAX(priority) AS priority, MAX(due_at) AS newest FROM deliveries
WHERE {_FREE} AND not_before <= :now AND expires_at > :now GROUP BY device_id, asked, shown
"""  # noqa: S608 - a constant

_CLAIM: Final = f"""
UPDATE deliveries SET state = 'claimed', owner = :owner, lease_until = :lease
WHERE id IN (
    SELECT id FROM deliveries WHERE device_id = :device
    AND ({_FREE} OR (state = 'claimed' AND owner = :owner))
    AND not_before <= :now AND expires_at > :now
    AND (:again = 1 OR shown_at IS NULL) AND (:quiet = 0 OR {_ASKED})
    ORDER BY priority DESC, due_at, id LIMIT :limit
) RETURNING *
"""  # noqa: S608 - a constant


@dataclass(frozen=True, slots=True)
class Due:
    """What waits for one device: the highest priority, and when the newest was due.

    ``asked``: whether it is for quiet hours too. ``shown``: whether the device has shown it.
    """

    priority: Priority
    newest: int
    asked: bool
    shown: bool


class DeliveryTable:
    """The deliveries. ``now`` is in milliseconds since 1970 everywhere."""

    def __init__(self, transaction: Transaction) -> None:
        self._in = transaction

    async def hold(self, device_id: str) -> None:
        """Keep other writers from the deliveries of a device until the transaction ends."""
        await self._in.lock(f"vixio.deliveries {device_id}")

    async def add(self, delivery: Delivery) -> None:
        """Add a delivery."""
        row = delivery.row()
        columns, values = ", ".join(row), ", ".join(f":{name}" for name in row)
        await self._in.execute(
            f"INSERT INTO deliveries ({columns}) VALUES ({values})",  # noqa: S608 - names of columns
            **row,
        )

    async def find(self, delivery_id: str) -> Delivery | None:
        """Return a delivery."""
        row = await self._in.fetch_one("SELECT * FROM deliveries WHERE id = :id", id=delivery_id)
        return Delivery.of(row) if row else None

    async def waiting_count(self, device_id: str) -> int:
        """Return how many of a device are not over."""
        row = await self._in.fetch_one(
            "SELECT COUNT(*) AS number FROM deliveries "
            "WHERE device_id = :device AND state IN ('pending', 'claimed')",
            device=device_id,
        )
        return int(row["number"]) if row else 0

    async def all(
        self,
        device_id: str = "",
        *,
        kinds: Collection[Kind] = (),
        series: str = "",
        over: bool = False,
        past: bool = False,
        limit: int = 1_000,
        offset: int = 0,
    ) -> list[Delivery]:
        """Return those of a device or of all, the next due first. ``over``: also those that are.

        ``past``: only those, the last that ended first.
        """
        where, values = ["1 = 1"], dict[str, Value]()
        if device_id:
            where.append("device_id = :device")
            values["device"] = device_id
        if series:
            where.append("series = :series")
            values["series"] = series
        if kinds:
            where.append(_one_of("kind", kinds))
        if past:
            where.append(_one_of("state", FINAL))
        elif not over:
            where.append(_one_of("state", (*WAITING, State.SPEAKING)))
        rows = await self._in.fetch(
            f"SELECT * FROM deliveries WHERE {' AND '.join(where)} "  # noqa: S608 - from above
            f"ORDER BY {'ended_at DESC' if past else 'due_at'}, id LIMIT :limit OFFSET :offset",
            **values,
            limit=limit,
            offset=offset,
        )
        return of_rows(rows)

    async def due(self, now: int) -> Mapping[str, Sequence[Due]]:
        """Return what is due and free, by device."""
        found: dict[str, list[Due]] = {}
        for row in await self._in.fetch(_DUE, now=now):
            kind = bool(row["asked"]), bool(row["shown"])
            due = Due(Priority(row["priority"]), int(row["newest"]), *kind)
            found.setdefault(row["device_id"], []).append(due)
        return found

    async def next_at(self, now: int) -> int | None:
        """Return when there is something to do next: a time, an expiry, the end of a lease."""
        row = await self._in.fetch_one(
            "SELECT MIN(CASE WHEN state = 'pending' AND not_before > :now THEN not_before "
            "WHEN state = 'pending' THEN expires_at ELSE lease_until END) AS next "
            "FROM deliveries WHERE state IN ('pending', 'claimed', 'speaking')",
            now=now,
        )
        return None if row is None or row["next"] is None else int(row["next"])

    async def claim(
        self,
        device_id: str,
        owner: str,
        now: int,
        lease_until: int,
        limit: int,
        *,
        quiet: bool,
        again: bool,
    ) -> list[Delivery]:
        """Take what is due for a device, by priority; what ``owner`` has already is included.

        ``quiet``: only what is for quiet hours. ``again``: also what it has shown. Hold the device
        before.
        """
        rows = await self._in.fetch(
            _CLAIM,
            device=device_id,
            owner=owner,
            now=now,
            lease=lease_until,
            limit=limit,
            quiet=int(quiet),
            again=int(again),
        )
        found = of_rows(rows)
        return sorted(found, key=lambda each: (-each.priority, each.due_at, each.id))

    async def owned(self, owner: str, *states: State) -> list[Delivery]:
        """Return what ``owner`` has in these states."""
        rows = await self._in.fetch(
            f"SELECT * FROM deliveries WHERE owner = :owner AND {_one_of('state', states)}",  # noqa: S608 - names of states
            owner=owner,
        )
        return of_rows(rows)

    async def change(self, delivery_id: str, states: Collection[State], **values: Value) -> bool:
        """Change a delivery if it is in one of these states; return whether it was."""
        columns = ", ".join(f"{name} = :{name}" for name in values)
        changed = await self._in.execute(
            f"UPDATE deliveries SET {columns} "  # noqa: S608 - names of columns
            f"WHERE id = :id AND {_one_of('state', states)}",
            id=delivery_id,
            **values,
        )
        return bool(changed)

    async def overdue(self, now: int) -> list[Delivery]:
        """Return what nobody is about to say, and is not worth saying any more."""
        rows = await self._in.fetch(
            f"SELECT * FROM deliveries WHERE {_FREE} AND expires_at <= :now",  # noqa: S608
            now=now,
        )
        return of_rows(rows)

    async def lost(self, now: int) -> list[Delivery]:
        """Return what a process was saying that has ended."""
        rows = await self._in.fetch(
            "SELECT * FROM deliveries WHERE state = 'speaking' AND lease_until <= :now", now=now
        )
        return of_rows(rows)

    async def has_later(self, delivery: Delivery) -> bool:
        """Whether the next one of a series is there already."""
        row = await self._in.fetch_one(
            "SELECT 1 AS one FROM deliveries WHERE series = :series AND due_at > :due",
            series=delivery.series,
            due=delivery.due_at,
        )
        return row is not None

    async def forget(self, before: int) -> int:
        """Remove what was over before then."""
        return await self._in.execute(
            f"DELETE FROM deliveries WHERE {_one_of('state', FINAL)} "  # noqa: S608 - states
            "AND ended_at < :at",
            at=before,
        )


def _one_of(column: str, values: Collection[Kind] | Collection[State]) -> str:
    return f"{column} IN ({', '.join(repr(each.value) for each in values)})"

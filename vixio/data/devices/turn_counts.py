"""The counts of daily turns in the database: read when a device connects, written behind."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from functools import partial
from typing import Final

from vixio.core.daily_turns import TurnStore
from vixio.core.log_fields import shared_context
from vixio.core.metrics import Counters
from vixio.core.tasks import cancel_and_wait
from vixio.data.database.database import Database
from vixio.data.database.link import Link, Operation, Rejected, Unavailable
from vixio.data.database.write_behind import WriteBehind

MAX_PENDING: Final = 10_000
"""Devices whose turns wait for a database that is out. Then the oldest are dropped."""

KEPT: Final = timedelta(days=2)
"""Counts of earlier days are removed; not those of yesterday, which it may be on another server."""

Key = tuple[str, str]
"""A device and a day."""


class StoredTurns(TurnStore):
    """Counts add up in the database, whichever process or server writes them."""

    def __init__(self, link: Link[Database], counters: Counters) -> None:
        self._link = link
        self._counters = counters
        self._behind: WriteBehind[Counter[Key], None] = WriteBehind(
            link,
            Counter,
            _add,
            singly=lambda turns: [Counter({key: number}) for key, number in turns.items()],
            dropped=lambda turns: counters.add("daily_turns.rejected", turns.total()),
        )
        self._loading: set[asyncio.Task[None]] = set()

    @property
    def pending(self) -> int:
        """How many turns are not written."""
        return sum(turns.total() for turns in self._behind.unwritten)

    def add(self, device_id: str, day: str) -> None:
        """Note a turn, to be written soon."""
        batch = self._behind.batch
        batch[device_id, day] += 1
        if len(batch) > MAX_PENDING:
            del batch[next(iter(batch))]
            self._counters.add("daily_turns.lost")
        self._behind.touch()

    def load(self, device_id: str, day: str, loaded: Callable[[int], None]) -> None:
        """Read the count of a device; without the database, what is known suffices."""
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._load((device_id, day), loaded), context=shared_context())
        self._loading.add(task)
        task.add_done_callback(self._loading.discard)

    async def close(self) -> None:
        """Write what is left, for a bounded time. Idempotent."""
        await cancel_and_wait(*self._loading)
        if not await self._behind.close():
            self._counters.add("daily_turns.lost", self.pending)

    async def _load(self, key: Key, loaded: Callable[[int], None]) -> None:
        try:
            turns = await self._link.call(Operation(partial(_turns, key)))
        except (Unavailable, Rejected):
            return
        loaded(turns + self._behind.batch[key])


async def _turns(key: Key, database: Database) -> int:
    device_id, day = key
    async with database.transaction(write=False) as transaction:
        row = await transaction.fetch_one(
            "SELECT turns FROM daily_turns WHERE device_id = :device_id AND day = :day",
            device_id=device_id,
            day=day,
        )
    return int(row["turns"]) if row is not None else 0


async def _add(turns: Mapping[Key, int], database: Database) -> None:
    newest = max(day for _, day in turns)
    async with database.transaction() as transaction:
        for (device_id, day), number in sorted(turns.items()):
            await transaction.execute(
                "INSERT INTO daily_turns (device_id, day, turns) VALUES (:device_id, :day, :turns)"
                " ON CONFLICT (device_id, day) DO UPDATE SET turns = daily_turns.turns + :turns",
                device_id=device_id,
                day=day,
                turns=number,
            )
        await transaction.execute(
            "DELETE FROM daily_turns WHERE day < :day",
            day=(date.fromisoformat(newest) - KEPT).isoformat(),
        )

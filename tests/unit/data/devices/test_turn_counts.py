"""Daily turns in the database: added up, read back, kept while the database is out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.support.registry_databases import Make
from tests.support.waiting import until
from vixio.core.metrics import Counters
from vixio.data.database.database import Database
from vixio.data.database.link import Link
from vixio.data.devices.repository import DeviceRepository
from vixio.data.devices.turn_counts import MAX_PENDING, StoredTurns

KITCHEN, TODAY = "02:00:00:00:00:01", "2026-01-31"


@asynccontextmanager
async def stored(make: Make) -> AsyncIterator[StoredTurns]:
    """A store; at the end it writes what is left."""
    link: Link[Database] = Link(make, name="turns")
    store = StoredTurns(link, Counters())
    try:
        yield store
    finally:
        await store.close()
        await link.close()


async def turns(store: StoredTurns, device_id: str = KITCHEN, day: str = TODAY) -> int:
    found: list[int] = []
    store.load(device_id, day, found.append)
    await until(lambda: found, what="the count")
    return found[0]


async def rows(make: Make) -> dict[tuple[str, str], int]:
    database = make()
    await database.open()
    try:
        async with database.transaction(write=False) as transaction:
            found = await transaction.fetch("SELECT * FROM daily_turns")
            return {(row["device_id"], row["day"]): row["turns"] for row in found}
    finally:
        await database.close()


async def test_turns_of_all_processes_add_up(make: Make) -> None:
    async with stored(make) as one, stored(make) as two:
        for store in (one, two, one):
            store.add(KITCHEN, TODAY)
    async with stored(make) as later:
        assert await turns(later) == 3
        later.add(KITCHEN, TODAY)
        assert await turns(later) == 4, "what is not written yet counts, too"
        assert await turns(later, day="2026-02-01") == await turns(later, "other") == 0
    assert await rows(make) == {(KITCHEN, TODAY): 4}


async def test_they_are_written_soon_and_old_ones_removed(make: Make) -> None:
    async with stored(make) as store:
        store.add(KITCHEN, "2026-01-28")
        store.add(KITCHEN, "2026-01-30")
    async with stored(make) as store:
        store.add(KITCHEN, TODAY)
        store.add("other", TODAY)
        await until(lambda: not store.pending, what="the end of writing")
        wanted = {(KITCHEN, "2026-01-30"): 1, (KITCHEN, TODAY): 1, ("other", TODAY): 1}
        assert await rows(make) == wanted


async def test_a_forgotten_device_leaves_no_count(make: Make) -> None:
    database = make()
    await database.open()
    repository = DeviceRepository(database)
    await repository.add(KITCHEN, "test")
    async with stored(make) as store:
        store.add(KITCHEN, TODAY)
    await repository.forget(KITCHEN, "test")
    await database.close()
    assert await rows(make) == {}


def broken() -> Database:
    """Make no database."""
    raise OSError("no")


async def test_without_a_database_it_is_bounded_and_counts_what_is_lost() -> None:
    counters = Counters()
    link: Link[Database] = Link(broken, name="turns")
    store = StoredTurns(link, counters)
    for number in range(MAX_PENDING + 1):
        store.add(str(number), TODAY)
    assert counters.get("daily_turns.lost") == 1
    found: list[int] = []
    store.load(KITCHEN, TODAY, found.append)
    await store.close()
    assert found == []
    assert counters.get("daily_turns.lost") == MAX_PENDING + 1
    await store.close()
    await link.close()

"""What is remembered in the registry's database: a real file, a real PostgreSQL."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from tests.support.registry_databases import Make
from tests.unit.data.memory.turns import NOTHING, TURN, A, B, said
from vixio.core.facts import person_owner
from vixio.core.history import UserMessage
from vixio.core.wall_clock import now_ms
from vixio.data.database.create import FILE_NAME
from vixio.data.database.database import Database
from vixio.data.memory.records import Remembered, device_key, owner_of
from vixio.data.memory.repository import MemoryRepository


@pytest.fixture
async def database(make: Make) -> AsyncIterator[Database]:
    made = make()
    await made.open()
    yield made
    await made.close()


@pytest.fixture
def store(database: Database) -> MemoryRepository:
    return MemoryRepository(database)


async def test_nothing_is_known_at_first(store: MemoryRepository) -> None:
    assert await store.load(A) == NOTHING
    assert await store.load_facts(A) == []
    assert await store.known() == []
    assert not await store.clear(A)


async def test_what_is_saved_is_loaded(store: MemoryRepository) -> None:
    assert await store.save_turn(A, TURN)
    assert await store.save_turn(A, said(2), known=True)
    await store.save_facts(A, ["is called Ada", "likes 茶"])
    assert await store.load(A) == Remembered([TURN, said(2)])
    assert await store.load_facts(A) == ["is called Ada", "likes 茶"]


async def test_devices_do_not_see_each_other(store: MemoryRepository) -> None:
    await store.save_turn(A, said(1))
    await store.save_summary(A, "of a", keep=2)
    await store.save_facts(A, ["a"])
    await store.save_turn(B, said(2))
    await store.save_facts(B, ["b"])
    assert await store.load(B) == Remembered([said(2)])
    assert await store.load_facts(B) == ["b"]
    assert await store.clear(A)
    assert await store.load(A) == NOTHING
    assert await store.load_facts(A) == []
    assert await store.load(B) == Remembered([said(2)])
    assert await store.load_facts(B) == ["b"]
    assert [device.key for device in await store.known()] == [B]


async def test_only_the_last_items_are_kept(store: MemoryRepository) -> None:
    await store.save_turn(B, said(0))
    for number in range(5):
        await store.save_turn(A, said(number), keep=6)
    assert await store.load(A) == Remembered([said(2), said(3), said(4)])
    # A bound in the middle of a turn leaves its rest, which is not a turn.
    await store.save_turn(A, said(5), keep=3)
    assert await store.load(A) == Remembered([said(5)])
    assert await store.load(B) == Remembered([said(0)])


async def test_a_summary_takes_the_place_of_turns(store: MemoryRepository) -> None:
    for number in range(3):
        await store.save_turn(A, said(number))
    await store.save_summary(A, "first", keep=4)
    assert await store.load(A) == Remembered([said(1), said(2)], "first")
    await store.save_summary(A, "second", keep=2)
    assert await store.load(A) == Remembered([said(2)], "second")


async def test_a_summary_is_rewritten_beside_the_turns(store: MemoryRepository) -> None:
    await store.save_turn(A, said(1))
    await store.save_summary(A, "first", keep=None)
    await store.save_summary(A, "二", keep=None)
    await store.save_summary(B, "of b", keep=None)
    assert await store.load(A) == Remembered([said(1)], "二")
    await store.save_summary(A, "", keep=None)
    assert await store.load(A) == Remembered([said(1)])
    await store.save_summary(B, "", keep=None)
    assert [device.key for device in await store.known()] == [A]


async def test_a_turn_is_taken_back(store: MemoryRepository) -> None:
    await store.save_turn(A, said(1))
    await store.save_turn(A, TURN)
    await store.unsave_turn(A, len(TURN))
    assert await store.load(A) == Remembered([said(1)])


async def test_facts_are_replaced(store: MemoryRepository) -> None:
    await store.save_facts(A, ["one", "two"])
    await store.save_facts(A, ["two"])
    assert await store.load_facts(A) == ["two"]
    await store.save_facts(A, [])
    assert await store.load_facts(A) == []
    assert await store.known() == []


async def test_two_processes_change_the_facts_of_one_person(
    store: MemoryRepository, make: Make
) -> None:
    key, number = device_key(person_owner("a1")), 20

    def add(name: str) -> None:
        """Be another process: with a connection, a thread and a loop of its own."""

        async def adding() -> None:
            other = make()
            await other.open()
            memory = MemoryRepository(other)
            for each in range(number):
                await memory.change_facts(key, partial(_with, f"{name} {each}"))
            await other.close()

        asyncio.run(adding())

    await asyncio.gather(*(asyncio.to_thread(add, name) for name in "ab"))
    assert len(await store.load_facts(key)) == 2 * number


def _with(fact: str, facts: list[str]) -> list[str]:
    return [*facts, fact]


async def test_facts_are_handed_over(store: MemoryRepository) -> None:
    anna = device_key(person_owner("a1"))
    await store.hand_over_facts(A, anna)
    assert await store.load_facts(anna) == []
    await store.save_facts(A, ["a", "b"])
    await store.hand_over_facts(A, anna)
    await store.save_facts(B, ["b", "c"])
    await store.hand_over_facts(B, anna)
    assert await store.load_facts(anna) == ["a", "b", "c"]
    assert await store.load_facts(A) == await store.load_facts(B) == []
    assert owner_of(anna) == person_owner("a1")


async def test_what_is_known_about_people_does_not_grow_old(store: MemoryRepository) -> None:
    anna = device_key(person_owner("a1"))
    await store.save_facts(anna, ["a"])
    await store.save_facts(A, ["a"])
    assert await store.expire(time.time() + 60) == 1
    assert await store.load_facts(anna) == ["a"]


async def test_records_are_moved_to_another_key(store: MemoryRepository) -> None:
    old, new = device_key("Kitchen Box"), device_key("kitchen box")
    await store.save_turn(old, TURN)
    await store.save_turn(old, said(1))
    await store.save_summary(old, "a summary", keep=100)
    await store.save_facts(old, ["likes tea"])
    everything = await store.load(old)

    await store.move(old, new)

    assert await store.load(new) == everything
    assert await store.load_facts(new) == ["likes tea"]
    assert await store.load(old) == NOTHING
    assert [device.key for device in await store.known()] == [new]


async def test_a_key_in_use_is_not_overwritten_by_a_move(store: MemoryRepository) -> None:
    old, new = device_key("Kitchen Box"), device_key("kitchen box")
    await store.save_turn(old, said(1))
    await store.save_facts(new, ["likes tea"])
    await store.move(old, new)
    assert await store.load(new) == NOTHING
    assert await store.load_facts(new) == ["likes tea"]
    await store.move(device_key("unknown"), old)
    assert len((await store.load(old)).turns) == 1


async def test_an_erasure_by_another_process_is_noticed(store: MemoryRepository) -> None:
    await store.save_turn(A, said(1))
    assert await store.save_turn(A, said(2), known=True)
    await store.clear(A)
    assert not await store.save_turn(A, said(3), known=True)
    assert await store.load(A) == Remembered([said(3)])


async def test_what_is_too_old_is_erased(store: MemoryRepository) -> None:
    await store.save_turn(A, said(1))
    await store.save_facts(A, ["a"])
    now = time.time()
    (device,) = await store.known()
    assert abs(device.seen - now) < 60
    assert await store.expire(now - 60) == 0
    assert await store.expire(now + 60) == 1
    assert await store.load(A) == NOTHING
    assert await store.load_facts(A) == []


async def test_each_turn_sets_when_a_device_was_last_seen(
    store: MemoryRepository, database: Database
) -> None:
    await store.save_turn(A, said(1))
    await store.save_turn(B, said(1))
    async with database.transaction() as transaction:
        await transaction.execute("UPDATE memories SET seen_at = 1577934245000")
    assert {device.seen for device in await store.known()} == {1577934245.0}
    await store.save_turn(A, said(2))
    newest, oldest = await store.known()
    assert (newest.key, oldest.key, oldest.seen) == (A, B, 1577934245.0)
    assert abs(newest.seen - now_ms() / 1000) < 60


async def test_rows_that_are_no_items_are_left_out(
    store: MemoryRepository, database: Database
) -> None:
    await store.save_turn(A, said(1))
    await store.save_facts(A, ["one"])
    async with database.transaction() as transaction:
        for number, text in enumerate(('{"role": "user", "cont', "", "[1]", "null"), 100):
            await transaction.execute(
                "INSERT INTO memory_items (owner, number, item) VALUES (:owner, :number, :item)",
                owner=A,
                number=number,
                item=text,
            )
        await transaction.execute("UPDATE memories SET facts = '{'")
    await store.save_turn(A, said(2))
    assert await store.load(A) == Remembered([said(1), said(2)])
    assert await store.load_facts(A) == []
    await store.save_facts(A, ["two"])
    assert await store.load_facts(A) == ["two"]


async def test_what_no_database_takes_is_stored_without_it(store: MemoryRepository) -> None:
    await store.save_facts(A, ["she likes \ud83d\ude00", "it is on \ud83d"])
    assert await store.load_facts(A) == ["she likes 😀", "it is on \ufffd"]
    await store.save_summary(A, "half \ud83d and \0", keep=None)
    assert (await store.load(A)).summary == "half \ufffd and \ufffd"


# ── of SQLite alone ──────────────────────────────────────────────────────────────────────────


def bytes_on_disk(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.glob(f"{FILE_NAME}*"))


@pytest.mark.parametrize("make", ["sqlite"], indirect=True)
async def test_what_is_erased_is_not_in_the_file_any_more(
    tmp_path: Path, store: MemoryRepository
) -> None:
    await store.save_turn(A, [UserMessage("my pin is xyzzy-turn")])
    await store.save_summary(A, "the pin is xyzzy-summary", keep=1)
    await store.save_facts(A, ["pin xyzzy-fact", "harmless"])
    await store.save_facts(A, ["harmless"])
    assert b"xyzzy-turn" in bytes_on_disk(tmp_path)
    assert b"xyzzy-fact" not in bytes_on_disk(tmp_path)
    await store.clear(A)
    assert b"xyzzy" not in bytes_on_disk(tmp_path)
    assert b"harmless" not in bytes_on_disk(tmp_path)


PARTS = {
    "the items": "BEFORE INSERT ON memory_items",
    "the device": "BEFORE UPDATE ON memories",
    "the trim": "BEFORE DELETE ON memory_items",
}


@pytest.mark.parametrize("make", ["sqlite"], indirect=True)
@pytest.mark.parametrize("part", PARTS)
async def test_a_turn_is_saved_as_a_whole_or_not_at_all(
    tmp_path: Path, store: MemoryRepository, part: str
) -> None:
    await store.save_turn(A, said(1))
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as other:
        other.execute(f"CREATE TRIGGER fault {PARTS[part]} BEGIN SELECT RAISE(ABORT, 'full'); END")
        with pytest.raises(sqlite3.Error, match="full"):
            await store.save_turn(A, TURN, keep=4)
        assert await store.load(A) == Remembered([said(1)])
        other.execute("DROP TRIGGER fault")
    await store.save_turn(A, TURN, keep=4)
    assert await store.load(A) == Remembered([TURN])


@pytest.mark.parametrize("make", ["sqlite"], indirect=True)
async def test_a_summary_and_the_turns_that_it_replaces_are_one_step(
    tmp_path: Path, store: MemoryRepository
) -> None:
    await store.save_turn(A, said(1))
    await store.save_summary(A, "first", keep=2)
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as other:
        other.execute(
            "CREATE TRIGGER fault BEFORE DELETE ON memory_items "
            "BEGIN SELECT RAISE(ABORT, 'full'); END"
        )
        with pytest.raises(sqlite3.Error, match="full"):
            await store.save_summary(A, "second", keep=0)
        assert await store.load(A) == Remembered([said(1)], "first")
        other.execute("DROP TRIGGER fault")
    await store.save_summary(A, "second", keep=0)
    assert await store.load(A) == Remembered([], "second")

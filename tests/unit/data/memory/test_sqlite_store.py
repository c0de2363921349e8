"""The SQLite file: who may read it, what is in it, and what happens when it is damaged."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.unit.data.memory.turns import NOTHING, TURN, A, B, said
from vixio.core.history import HistoryItem, UserMessage
from vixio.data.database import sqlite_file
from vixio.data.database.link import Link, Operation
from vixio.data.memory.create import store_link
from vixio.data.memory.records import Remembered
from vixio.data.memory.sqlite_store import SQLiteStore
from vixio.data.memory.store import MemoryStore, StoreFailed


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "memory.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SQLiteStore]:
    made = SQLiteStore(path)
    await made.open()
    yield made
    await made.close()


async def save(link: Link[MemoryStore], key: str, turn: list[HistoryItem]) -> None:
    await link.call(Operation(lambda store: store.save_turn(key, turn, keep=6, known=True)))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def bytes_on_disk(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))


async def test_the_file_is_its_owners_alone(path: Path, store: SQLiteStore) -> None:
    await store.save_turn(A, said(1))
    assert mode(path) == 0o600
    assert mode(path.parent) == 0o700
    for beside in path.parent.iterdir():
        assert mode(beside) == 0o600, beside


async def test_what_is_erased_is_not_in_the_file_any_more(path: Path, store: SQLiteStore) -> None:
    await store.save_turn(A, [UserMessage("my pin is xyzzy-turn")])
    await store.save_summary(A, "the pin is xyzzy-summary", keep=1)
    await store.save_facts(A, ["pin xyzzy-fact", "harmless"])
    await store.save_facts(A, ["harmless"])
    assert b"xyzzy-turn" in bytes_on_disk(path)
    assert b"xyzzy-fact" not in bytes_on_disk(path)
    await store.clear(A)
    assert b"xyzzy" not in bytes_on_disk(path)
    assert b"harmless" not in bytes_on_disk(path)


# ── transactions ─────────────────────────────────────────────────────────────────────────────

PARTS = {
    "the items": "BEFORE INSERT ON vixio_messages",
    "the session": "BEFORE UPDATE ON vixio_sessions",
    "the trim": "BEFORE DELETE ON vixio_messages",
}


@pytest.mark.parametrize("part", PARTS)
async def test_a_turn_is_saved_as_a_whole_or_not_at_all(
    path: Path, store: SQLiteStore, part: str
) -> None:
    await store.save_turn(A, said(1))
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"CREATE TRIGGER fault {PARTS[part]} BEGIN SELECT RAISE(ABORT, 'full'); END")
        with pytest.raises(sqlite3.Error, match="full"):
            await store.save_turn(A, TURN, keep=4)
        assert await store.load(A) == Remembered([said(1)])
        other.execute("DROP TRIGGER fault")
    await store.save_turn(A, TURN, keep=4)
    assert await store.load(A) == Remembered([TURN])


async def test_a_summary_and_the_turns_that_it_replaces_are_one_step(
    path: Path, store: SQLiteStore
) -> None:
    await store.save_turn(A, said(1))
    await store.save_summary(A, "first", keep=2)
    with closing(sqlite3.connect(path)) as other:
        # The old summary is deleted as well, so the fault is only in the turns.
        other.execute(
            f"CREATE TRIGGER fault BEFORE DELETE ON vixio_messages WHEN old.session_id = '{A}' "
            "BEGIN SELECT RAISE(ABORT, 'full'); END"
        )
        with pytest.raises(sqlite3.Error, match="full"):
            await store.save_summary(A, "second", keep=0)
        assert await store.load(A) == Remembered([said(1)], "first")
        other.execute("DROP TRIGGER fault")
    await store.save_summary(A, "second", keep=0)
    assert await store.load(A) == Remembered([], "second")


async def test_a_file_that_stays_locked_fails_and_is_used_again(
    path: Path, store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.save_turn(A, said(1))
    monkeypatch.setattr(sqlite_file, "IO_TIMEOUT_S", 0.02)
    await store.open()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            await store.save_turn(A, said(2))
        assert await store.load(A) == Remembered([said(1)]), "readers do not wait"
        other.execute("ROLLBACK")
    await store.save_turn(A, said(2))
    assert await store.load(A) == Remembered([said(1), said(2)])


async def test_a_locked_file_delays_only_the_memory(path: Path, store: SQLiteStore) -> None:
    link = store_link(lambda: SQLiteStore(path), quiet=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        saving = asyncio.create_task(save(link, A, said(1)))
        # A loop that were blocked until the lock's time limit would see the call fail.
        done, _ = await asyncio.wait([saving], timeout=0.05)
        assert not done
        other.execute("ROLLBACK")
    await saving
    assert await store.load(A) == Remembered([said(1)])
    await link.close()


async def test_several_servers_write_into_one_file(path: Path, store: SQLiteStore) -> None:
    keys = [f"02:00:00:00:01:0{number}" for number in range(3)]
    links = [store_link(lambda: SQLiteStore(path), quiet=True) for _ in keys]

    async def write(key: str, link: Link[MemoryStore]) -> None:
        for turn in map(said, range(30)):
            await save(link, key, turn)

    await asyncio.gather(*map(write, keys, links))
    for key, link in zip(keys, links, strict=True):
        assert await store.load(key) == Remembered([said(27), said(28), said(29)])
        await link.close()


async def test_each_turn_sets_when_a_device_was_last_seen(path: Path, store: SQLiteStore) -> None:
    await store.save_turn(A, said(1))
    await store.save_turn(B, said(1))
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("UPDATE vixio_sessions SET updated_at = '2020-01-02 03:04:05'")
    long_ago = datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC).timestamp()
    assert {device.seen for device in await store.known()} == {long_ago}
    await store.save_turn(A, said(2))
    seen = {device.key: device.seen for device in await store.known()}
    assert seen[B] == long_ago
    assert seen[A] > long_ago


# ── files that are not as they should be ─────────────────────────────────────────────────────


async def test_a_file_that_is_deleted_is_made_anew(path: Path, store: SQLiteStore) -> None:
    await store.save_turn(A, said(1))
    for file in path.parent.iterdir():
        file.unlink()
    assert await store.load(A) == NOTHING
    assert not await store.save_turn(A, said(2), known=True), "the erasure is noticed"
    assert mode(path) == 0o600
    await store.close()
    await store.open()
    assert await store.load(A) == Remembered([said(2)])


async def test_a_file_that_is_moved_away_keeps_what_it_has(path: Path, store: SQLiteStore) -> None:
    await store.save_turn(A, said(1))
    aside = path.parent / "aside"
    aside.mkdir()
    for file in path.parent.glob(f"{path.name}*"):
        file.rename(aside / file.name)
    await store.save_turn(A, said(2))
    assert await store.load(A) == Remembered([said(2)])
    moved = SQLiteStore(aside / path.name)
    await moved.open()
    assert await moved.load(A) == Remembered([said(1)])
    await moved.close()


async def test_rows_that_are_no_items_are_left_out(path: Path, store: SQLiteStore) -> None:
    await store.save_turn(A, said(1))
    await store.save_summary(A, "first", keep=2)
    await store.save_facts(A, ["one"])
    insert = "INSERT INTO vixio_messages (session_id, message_data) VALUES (?, ?)"
    with closing(sqlite3.connect(path)) as other, other:
        for session_id in (A, f"{A}/summary", f"{A}/facts"):
            for data in ('{"role": "user", "cont', "", "[1]", "null", b"\xff\xfe", 7):
                other.execute(insert, (session_id, data))
    await store.save_turn(A, said(2))
    assert await store.load(A) == Remembered([said(1), said(2)], "first")
    assert await store.load_facts(A) == ["one"]
    await store.save_facts(A, ["two"])
    assert await store.load_facts(A) == ["two"]
    assert [device.key for device in await store.known()] == [A]


@pytest.mark.parametrize("content", [b"this is no database at all, " * 100, b"SQLite format 3\0"])
async def test_a_damaged_file_is_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(content * 3)
    with pytest.raises(StoreFailed) as failed:
        await SQLiteStore(path).open()
    message = str(failed.value)
    assert message.startswith(str(path))
    assert "move it away" in message
    assert "\n" not in message
    assert path.read_bytes() == content * 3


async def test_damage_in_the_middle_is_found(path: Path, store: SQLiteStore) -> None:
    for number in range(200):
        await store.save_turn(A, said(number))
    await store.close()
    with path.open("r+b") as file:
        file.seek(8_192)
        file.write(b"\xff" * 12_288)
    with pytest.raises(StoreFailed, match="move it away"):
        await store.open()


@pytest.mark.parametrize("place", ["/proc/vixio/memory.db", "{file}/memory.db", "{directory}"])
async def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    path = Path(place.format(file=tmp_path / "file", directory=tmp_path))
    with pytest.raises(StoreFailed) as failed:
        await SQLiteStore(path).open()
    assert "memory.path" in str(failed.value)


async def test_a_closed_store_says_so(store: SQLiteStore) -> None:
    await store.close()
    with pytest.raises(StoreFailed, match="closed"):
        await store.save_turn(B, said(1))

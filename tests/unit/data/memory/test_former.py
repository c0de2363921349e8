"""What earlier versions remembered is kept: their SQLite file, their tables, their backups."""

from __future__ import annotations

import json
import logging
import sqlite3
import time
from contextlib import closing
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from agents.memory import SQLiteSession

from tests.support.registry_databases import Make
from tests.unit.data.memory.turns import NOTHING, TURN, A, B, said
from vixio.core.facts import person_owner
from vixio.data.database.database import Database
from vixio.data.memory.former import former_file, take_over
from vixio.data.memory.records import Remembered, device_key, to_input_items
from vixio.data.memory.repository import MemoryRepository

ANNA = device_key(person_owner("a1"))


def facts_item(*facts: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "input_text", "text": fact} for fact in facts]}


ITEMS: dict[str, list[Any]] = {
    A: to_input_items(TURN),
    f"{A}/summary": [
        {"role": "user", "content": "older"},
        {"role": "user", "content": "Ada likes tea."},
    ],
    f"{A}/facts": [
        {
            "role": "user",
            "content": [{"type": "input_text", "text": text} for text in ("one", "二")],
        }
    ],
    B: to_input_items([*said(1), *said(2)]),
    f"{ANNA}/facts": [facts_item("is Anna")],
}


def sdk_session(session_id: str, path: Path) -> SQLiteSession:
    """Return a session in the way that the first versions of Vixio used the SDK."""
    return SQLiteSession(session_id, path, "vixio_sessions", "vixio_messages")


async def write(path: Path) -> None:
    """Write a file as an earlier version."""
    for session_id, items in ITEMS.items():
        with closing(sdk_session(session_id, path)) as session:
            await session.add_items([*items])


async def opened(make: Make, file: Path) -> Database:
    database = make()
    database.upgrade = partial(take_over, file=file)
    await database.open()
    return database


async def check(memory: MemoryRepository) -> None:
    assert await memory.load(A) == Remembered([TURN], "Ada likes tea.")
    assert await memory.load_facts(A) == ["one", "二"]
    assert await memory.load(B) == Remembered([said(1), said(2)])
    assert await memory.load_facts(ANNA) == ["is Anna"]


async def test_a_file_is_taken_over_once(
    make: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    file = tmp_path / "state" / "memory.db"
    file.parent.mkdir()
    await write(file)
    long_ago = datetime.fromisoformat("2020-01-02T03:04:05+00:00").timestamp()
    with closing(sqlite3.connect(file)) as old, old:
        old.execute("UPDATE vixio_sessions SET updated_at = '2020-01-02 03:04:05'")
        for session_id, text in ((B, "{broken"), (B, "[" * 100_000), (b"\xff/facts", "{}"), (B, 7)):
            old.execute(
                "INSERT INTO vixio_messages (session_id, message_data) VALUES (?, ?)",
                (session_id, text),
            )
    database = await opened(make, file)
    memory = MemoryRepository(database)
    await check(memory)
    assert {each.key: each.seen for each in await memory.known()} == dict.fromkeys(
        (A, B, ANNA), long_ago
    )
    assert "former memory taken over" in caplog.text
    assert [each.name for each in file.parent.iterdir()] == ["memory.db.former"]
    # It is over: what is erased then stays so, and the next start finds nothing.
    await memory.clear(A)
    await database.close()
    database = await opened(make, file)
    assert await MemoryRepository(database).load(A) == NOTHING
    await database.close()


async def test_a_file_that_was_not_renamed_brings_back_nothing(make: Make, tmp_path: Path) -> None:
    """A process that was killed behind the transaction, or a folder that is read only."""
    file = tmp_path / "state" / "memory.db"
    file.parent.mkdir()
    await write(file)
    database = await opened(make, file)
    memory = MemoryRepository(database)
    await memory.save_turn(A, said(5))
    (file.parent / "memory.db.former").rename(file)
    await database.open()
    assert await memory.load(A) == Remembered([TURN, said(5)], "Ada likes tea.")
    assert await memory.load(B) == Remembered([said(1), said(2)])
    await database.close()


async def test_tables_in_the_registrys_database_are_taken_over(make: Make, tmp_path: Path) -> None:
    """Of nodes whose ``memory.url`` was that of ``data.database``."""
    database = make()
    await database.open()
    async with database.transaction() as transaction:
        await transaction.execute(
            "CREATE TABLE vixio_sessions (session_id VARCHAR PRIMARY KEY, "
            "created_at TIMESTAMP, updated_at TIMESTAMP)"
        )
        await transaction.execute(
            "CREATE TABLE vixio_messages (id INTEGER PRIMARY KEY, "
            "session_id VARCHAR REFERENCES vixio_sessions (session_id), message_data TEXT)"
        )
        number = 0
        for session_id, items in ITEMS.items():
            await transaction.execute(
                "INSERT INTO vixio_sessions VALUES (:id, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)",
                id=session_id,
            )
            for item in items:
                number += 1
                await transaction.execute(
                    "INSERT INTO vixio_messages VALUES (:number, :session, :item)",
                    number=number,
                    session=session_id,
                    item=json.dumps(item),
                )
    await database.close()
    database = await opened(make, tmp_path / "nothing.db")
    memory = MemoryRepository(database)
    await check(memory)
    assert all(abs(each.seen - time.time()) < 86_400 for each in await memory.known())
    async with database.transaction(write=False) as transaction:
        assert not {"vixio_sessions", "vixio_messages"} & {*await transaction.tables()}
    await database.close()


@pytest.mark.parametrize("content", [b"this is no database at all, " * 100, b"SQLite format 3\0"])
async def test_a_file_that_cannot_be_read_is_left_alone(
    make: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    file = tmp_path / "memory.db"
    file.write_bytes(content * 3)
    database = await opened(make, file)
    assert await MemoryRepository(database).known() == []
    assert "former memory not taken over" in caplog.text
    assert file.read_bytes() == content * 3
    await database.close()


def test_where_the_file_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", "/home/ada")
    assert former_file("") == tmp_path / "vixio" / "memory.db"
    assert former_file("~/own.db") == Path("/home/ada/own.db")

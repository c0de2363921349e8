"""The SQLite file is that of the agent SDK's own session, which the store does without."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from agents.memory import SQLiteSession

from tests.unit.data.memory.turns import TURN, A, B, said
from vixio.core.history import AssistantMessage, HistoryItem, UserMessage
from vixio.data.memory.records import Remembered
from vixio.data.memory.sqlite_store import SQLiteStore

ROOT = Path(__file__).resolve().parents[4]

ITEMS: list[Any] = [
    {"role": "user", "content": "turn the lamp on, 请"},
    {
        "type": "function_call",
        "call_id": "call_1",
        "name": "self.lamp.turn_on",
        "arguments": '{"level": 3}',
    },
    {"type": "function_call_output", "call_id": "call_1", "output": "true"},
    {"role": "assistant", "content": "It is on. 🙂"},
]


def sdk_session(session_id: str, path: Path) -> SQLiteSession:
    """Return a session in the way that earlier versions of Vixio used the SDK."""
    return SQLiteSession(session_id, path, "vixio_sessions", "vixio_messages")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SQLiteStore]:
    """A store that is not open yet."""
    made = SQLiteStore(path)
    yield made
    await made.close()


def schema(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return columns with types and defaults, foreign keys and indexes."""
    with closing(sqlite3.connect(path)) as connection:

        def ask(pragma: str) -> list[tuple[Any, ...]]:
            return connection.execute(f"PRAGMA {pragma}").fetchall()

        found = {"journal": ask("journal_mode"), "sequences": ask("table_info(sqlite_sequence)")}
        for table in ("vixio_sessions", "vixio_messages"):
            found[table] = ask(f"table_info({table})")
            found[f"{table} keys"] = ask(f"foreign_key_list({table})")
            found[f"{table} indexes"] = ask(f"index_list({table})")
            for _, index, *_ in found[f"{table} indexes"]:
                found[index] = ask(f"index_xinfo({index})")
        return found


async def test_the_tables_are_the_same(tmp_path: Path, path: Path, store: SQLiteStore) -> None:
    await store.open()
    theirs = tmp_path / "sdk.db"
    sdk_session(A, theirs).close()
    assert schema(path) == schema(theirs)


async def test_a_file_of_the_sdks_session_is_read_and_continued(
    path: Path, store: SQLiteStore
) -> None:
    with closing(sdk_session(A, path)) as session, closing(sdk_session(B, path)) as other:
        await session.add_items([*ITEMS])
        await other.add_items([{"role": "user", "content": "hello"}])
    for name, content in [
        ("summary", "Ada likes tea."),
        ("facts", [{"type": "input_text", "text": "is called Ada"}]),
    ]:
        item: Any = {"role": "user", "content": content}
        with closing(sdk_session(f"{A}/{name}", path)) as session:
            await session.add_items([item])

    await store.open()
    assert await store.load(A) == Remembered([TURN], "Ada likes tea.")
    assert await store.load_facts(A) == ["is called Ada"]
    assert {device.key for device in await store.known()} == {A, B}

    assert await store.save_turn(A, said(1), known=True)
    assert await store.save_turn(A, said(2), known=True, keep=6)
    await store.unsave_turn(A, 2)
    assert await store.load(A) == Remembered([said(1)], "Ada likes tea.")
    assert await store.clear(B)
    await store.save_summary(A, "Ada likes tea with milk.", keep=2)
    await store.close()
    await store.open()
    assert await store.load(A) == Remembered([said(1)], "Ada likes tea with milk.")


async def test_the_sdk_reads_and_continues_a_file_of_the_store(
    path: Path, store: SQLiteStore
) -> None:
    await store.open()
    await store.save_turn(A, TURN)
    with closing(sdk_session(A, path)) as session:
        assert await session.get_items() == ITEMS
        # Beside the open store, as another program would.
        await session.add_items([{"role": "user", "content": "and off"}])
        await session.add_items([{"role": "assistant", "content": "It is off."}])
        turn: list[HistoryItem] = [UserMessage("and off"), AssistantMessage("It is off.")]
        assert await store.load(A) == Remembered([TURN, turn])
        assert await session.pop_item() == {"role": "assistant", "content": "It is off."}
        assert await store.load(A) == Remembered([TURN, turn[:1]])
        await session.clear_session()
    assert not await store.save_turn(A, said(1), known=True), "the erasure is noticed"
    assert await store.load(A) == Remembered([said(1)])


async def test_the_text_of_a_row_is_what_the_sdk_writes(
    tmp_path: Path, path: Path, store: SQLiteStore
) -> None:
    theirs = tmp_path / "sdk.db"
    with closing(sdk_session(A, theirs)) as session:
        await session.add_items([*ITEMS])
    await store.open()
    await store.save_turn(A, TURN)

    def rows(file: Path) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(file)) as connection:
            return connection.execute(
                "SELECT id, session_id, message_data, typeof(message_data), typeof(created_at), "
                "length(created_at) FROM vixio_messages ORDER BY id"
            ).fetchall()

    assert rows(path) == rows(theirs)


USE = """
import asyncio, sys
from pathlib import Path
from tests.unit.data.memory.doubles import Server, talk

async def use():
    for turns in (0, 1):
        server = Server(Path(sys.argv[1]))
        server.memory.start()
        history = await server.connect("02:00:00:00:00:0a")
        assert len(history) == turns
        talk(history, "hello")
        await server.memory.facts.add("02:00:00:00:00:0a", "likes tea")
        await server.memory.stop()
        assert server.count("saved") == 1
        assert server.count("failed") == 0

asyncio.run(use())
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


@pytest.mark.slow
def test_the_store_is_used_without_the_sdk(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", USE, str(path)], capture_output=True, text=True, check=True, cwd=ROOT
    )
    imported = set(done.stdout.split())
    assert {"sqlite3", "vixio"} <= imported
    assert not {"agents", "openai", "pydantic", "sqlalchemy", "redis"} & imported

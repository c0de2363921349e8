"""A database that fails and hangs on demand, and the memory of a server on it."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from vixio.core.history import AssistantMessage, History, HistoryItem, UserMessage
from vixio.core.history_store import HistoryStore
from vixio.core.metrics import Counters
from vixio.data.database.database import Database, Row, Transaction, Value
from vixio.data.database.link import Link, Reports
from vixio.data.database.sqlite import SQLiteDatabase
from vixio.data.memory.memory import Memory, MemorySettings, Summarise
from vixio.data.memory.repository import MemoryRepository

T = TypeVar("T")


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[MemoryRepository]:
    """Open a file beside the server, as a command would."""
    database = SQLiteDatabase(path)
    await database.open()
    try:
        yield MemoryRepository(database)
    finally:
        await database.close()


class FlakyDatabase(SQLiteDatabase):
    """Fails while ``broken``; does not answer while ``hanging``; does not take ``rejected``."""

    def __init__(self) -> None:
        folder = tempfile.mkdtemp(prefix="vixio-memory-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.path = Path(folder) / "vixio.db"
        super().__init__(self.path)
        self.broken = False
        self.hanging = False
        self.rejected = ""
        """Words; what is done with what has them is an error of data."""
        self.done: list[str] = []

    async def _at(self, what: str) -> None:
        while self.hanging:  # noqa: ASYNC110 - set from another thread's loop
            await asyncio.sleep(0.002)
        if self.broken:
            raise OSError("the disk is gone, and with it what the user said")
        self.done.append(what)

    async def open(self) -> None:
        await self._at("open")
        await super().open()

    async def close(self) -> None:
        await super().close()
        self.done.append("close")

    @asynccontextmanager
    async def transaction(self, *, write: bool = True) -> AsyncIterator[Transaction]:
        await self._at("write" if write else "read")
        async with super().transaction(write=write) as transaction:
            yield _Picky(transaction, self)

    # ── looked at and changed from outside ───────────────────────────────────────────────────

    async def look(self, do: Callable[[MemoryRepository], Awaitable[T]]) -> T:
        """Do something by another connection."""
        async with opened(self.path) as memory:
            return await do(memory)

    async def turns(self, key: str) -> Sequence[Sequence[HistoryItem]]:
        """Return the turns that are stored."""
        return (await self.look(lambda memory: memory.load(key))).turns

    async def facts(self, key: str) -> Sequence[str]:
        """Return the facts that are stored."""
        return await self.look(lambda memory: memory.load_facts(key))


class _Picky(Transaction):
    dialect = "sqlite"

    def __init__(self, transaction: Transaction, database: FlakyDatabase) -> None:
        self._transaction = transaction
        self._database = database

    def _take(self, value: object) -> None:
        if self._database.rejected and self._database.rejected in str(value):
            raise ValueError("what the user said")

    async def _fetch(self, sql: str, values: Mapping[str, Value]) -> Sequence[Row]:
        rows = await self._transaction.fetch(sql, **values)
        self._take(rows)
        return rows

    async def _execute(self, sql: str, values: Mapping[str, Value]) -> int:
        self._take(values)
        return await self._transaction.execute(sql, **values)

    async def lock(self, name: str) -> None:
        await self._transaction.lock(name)

    async def tables(self) -> Sequence[str]:
        return await self._transaction.tables()


class Server:
    """The memory of a server. A second one on the same store is a server that was restarted."""

    def __init__(
        self,
        store: Database | Path | Callable[[], Database],
        *,
        max_turns: int = 20,
        max_devices: int = 100,
        max_tokens: int = 6_000,
        summarise: Summarise | None = None,
        timeout: float = 6.0,
        **settings: float,
    ) -> None:
        self.counters = Counters()

        def make() -> Database:
            if isinstance(store, Path):
                return SQLiteDatabase(store)
            return store if isinstance(store, Database) else store()

        reports = Reports(failed="the memory fails", works="the memory works")
        self.link = Link(make, name="vixio-memory", reports=reports, timeout=timeout)
        self.memory = Memory(
            self.link,
            self.counters,
            MemorySettings(**{"wait": 30.0, "flush": 30.0, **settings}),  # type: ignore[arg-type]  # all the fields are numbers
            summarise,
        )
        self.histories = HistoryStore(max_devices, max_turns, max_tokens, self.memory)
        self.memory.agent_ready.set()

    async def connect(self, device_id: str, sent_id: str = "") -> History:
        """Connect a device, up to the beginning of its first turn."""
        history = self.histories.get(device_id, sent_id)
        await history.ready()
        return history

    async def stop(self) -> None:
        """Stop the memory, then its database."""
        await self.memory.stop()
        await self.link.close()

    def count(self, name: str) -> int:
        return self.counters.get(f"memory.{name}")


def talk(history: History, said: str, answer: str = "yes") -> int:
    """Add one complete turn."""
    turn_id = history.next_turn_id()
    history.begin(turn_id, said)
    history.append(turn_id, AssistantMessage(answer))
    history.close(turn_id)
    return turn_id


def users(history: History) -> list[str]:
    """Return the user's words in the turns of the history."""
    return [item.text for item in history.items() if isinstance(item, UserMessage)]

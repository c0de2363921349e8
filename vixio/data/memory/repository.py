"""What is remembered of devices and people, in the tables of the registry's database."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from vixio.core.facts import MAX_FACTS
from vixio.core.history import HistoryItem
from vixio.core.wall_clock import now_ms
from vixio.core.well_formed import well_formed
from vixio.data.database.database import Database, Row, Transaction
from vixio.data.database.link import Operation
from vixio.data.memory.records import (
    PERSON_KEY,
    InputItem,
    Remembered,
    to_input_items,
    to_turns,
)

T = TypeVar("T")

ChangeFacts = Callable[[list[str]], list[str]]
"""Returns a new list of facts, made from the current one."""


@dataclass(frozen=True, slots=True)
class Known:
    """A device of which something is remembered. ``seen``: time of the last turn or fact, in
    seconds since the epoch."""

    key: str
    seen: float


class MemoryRepository:
    """The memory of devices. ``key``: :func:`~vixio.data.memory.records.device_key`.

    Each method is one transaction. It may raise any error of the database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def load(self, key: str) -> Remembered:
        """Return the conversation with a device, oldest first; empty for an unknown device."""
        async with self._database.transaction(write=False) as transaction:
            tables = MemoryTables(transaction)
            return Remembered(to_turns(await tables.items(key)), await tables.summary(key))

    async def save_turn(
        self, key: str, items: Sequence[HistoryItem], *, keep: int = 0, known: bool = False
    ) -> bool:
        """Add the items of a turn, and remove all but the last ``keep``.

        ``keep`` 0: remove none. ``known``: earlier items are expected; returns false if there are
        none, which means that they were erased from outside.
        """
        async with self._database.transaction() as transaction:
            tables = MemoryTables(transaction)
            before = await tables.add(key, to_input_items(items))
            if keep:
                await tables.trim(key, keep)
        return before or not known

    async def unsave_turn(self, key: str, count: int) -> None:
        """Remove the last ``count`` items."""
        async with self._database.transaction() as transaction:
            await MemoryTables(transaction).pop(key, count)

    async def save_summary(self, key: str, summary: str, *, keep: int | None) -> None:
        """Replace the summary, and remove all but the last ``keep`` items of turns; None: none.

        Empty: erase it.
        """
        async with self._database.transaction() as transaction:
            tables = MemoryTables(transaction)
            await tables.put_summary(key, summary)
            if keep is not None:
                await tables.trim(key, keep)
        if keep is None:
            await self._database.purge()  # somebody wants the former words gone

    async def load_facts(self, key: str) -> Sequence[str]:
        """Return the facts about a user, oldest first."""
        async with self._database.transaction(write=False) as transaction:
            return await MemoryTables(transaction).facts(key)

    async def save_facts(self, key: str, facts: Sequence[str]) -> None:
        """Replace the facts about a user."""
        await self.change_facts(key, lambda _: list(facts))

    async def change_facts(self, key: str, change: ChangeFacts) -> Sequence[str]:
        """Replace the facts by what ``change`` makes of them; return those before.

        A person's devices may be in several processes: each change sees the one before.
        """
        async with self._database.transaction() as transaction:
            tables = MemoryTables(transaction)
            await tables.lock_facts(key)
            before = await tables.facts(key)
            after = change(before)
            if after == before:
                return before
            await tables.put_facts(key, after)
        await self._database.purge()
        return before

    async def hand_over_facts(self, former: str, key: str) -> None:
        """Move the facts under ``former`` to those under ``key``."""
        async with self._database.transaction() as transaction:
            tables = MemoryTables(transaction)
            await tables.lock_facts(former, key)
            if not (facts := await tables.facts(former)):
                return
            known = await tables.facts(key)
            joined = [*known, *(fact for fact in facts if fact not in known)]
            await tables.put_facts(key, joined[-MAX_FACTS:])
            await tables.put_facts(former, [])

    async def clear(self, key: str) -> bool:
        """Erase a device; return false if it was unknown."""
        async with self._database.transaction() as transaction:
            tables = MemoryTables(transaction)
            there = await tables.anything(key)
            await tables.erase(key)
        await self._database.purge()
        return there

    async def known(self) -> Sequence[Known]:
        """Return all devices and people of whom something is remembered, the last seen first."""
        async with self._database.transaction(write=False) as transaction:
            return await MemoryTables(transaction).known()

    async def move(self, former: str, key: str) -> None:
        """Move everything under ``former`` to ``key``, unless something is stored there already."""
        async with self._database.transaction() as transaction:
            tables = MemoryTables(transaction)
            if await tables.anything(former) and not await tables.anything(key):
                await tables.erase(key)
                await tables.rename(former, key)

    async def expire(self, before: float) -> int:
        """Erase the devices not seen since ``before`` (seconds since the epoch); return the number.

        All that is remembered of a device counts together: one in daily use keeps its old facts.
        What is known of people stays, since their use is not seen here.
        """
        async with self._database.transaction() as transaction:
            tables = MemoryTables(transaction)
            old = [
                device.key
                for device in await tables.known()
                if device.seen < before and not device.key.startswith(PERSON_KEY)
            ]
            for key in old:
                await tables.erase(key)
        if old:
            await self._database.purge()
        return len(old)


class MemoryTables:
    """The tables in a transaction: a row of ``memories`` for each owner, with the summary, the
    facts, and when it was last written; the items of its turns in ``memory_items``."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def items(self, owner: str) -> list[InputItem]:
        """Return the items of the turns, oldest first, without those that are not JSON objects."""
        rows = await self._transaction.fetch(
            "SELECT item FROM memory_items WHERE owner = :owner ORDER BY number", owner=owner
        )
        return list(json_objects(row["item"] for row in rows))

    async def summary(self, owner: str) -> str:
        """Return the summary."""
        row = await self._row(owner)
        return str(row["summary"]) if row is not None else ""

    async def facts(self, owner: str) -> list[str]:
        """Return the facts, oldest first."""
        row = await self._row(owner)
        if row is None:
            return []
        with suppress(ValueError):
            if isinstance(found := json.loads(row["facts"]), list):
                return [str(fact) for fact in found]
        return []

    async def anything(self, owner: str) -> bool:
        """Return whether anything is remembered."""
        row = await self._row(owner)
        if row is None:
            return False
        return bool(row["summary"] or await self.facts(owner) or await self._last(owner))

    async def known(self) -> Sequence[Known]:
        """Return all owners of whom something is remembered, the last seen first."""
        rows = await self._transaction.fetch(
            "SELECT owner, seen_at FROM memories WHERE summary <> '' OR facts <> '[]' OR EXISTS "
            "(SELECT 1 FROM memory_items WHERE memory_items.owner = memories.owner) "
            "ORDER BY seen_at DESC"
        )
        return [Known(row["owner"], row["seen_at"] / 1000) for row in rows]

    async def lock_facts(self, *owners: str) -> None:
        """Keep other processes from the facts, up to the end of the transaction."""
        for owner in sorted(owners):  # each takes them in this order, so none waits for the other
            await self._transaction.lock(f"vixio.facts.{owner}")

    async def add(self, owner: str, items: Iterable[InputItem]) -> bool:
        """Add items at the end; return whether there were earlier ones."""
        await self.touch(owner)
        last = before = await self._last(owner)
        for item in items:
            last += 1
            await self._transaction.execute(
                "INSERT INTO memory_items (owner, number, item) VALUES (:owner, :number, :item)",
                owner=owner,
                number=last,
                item=json.dumps(item, ensure_ascii=False),
            )
        return before > 0

    async def trim(self, owner: str, keep: int) -> None:
        """Remove all but the last ``keep`` items."""
        await self._transaction.execute(
            "DELETE FROM memory_items WHERE owner = :owner AND number <= (SELECT number "
            "FROM memory_items WHERE owner = :owner ORDER BY number DESC LIMIT 1 OFFSET :keep)",
            owner=owner,
            keep=keep,
        )

    async def pop(self, owner: str, count: int) -> None:
        """Remove the last ``count`` items."""
        await self._transaction.execute(
            "DELETE FROM memory_items WHERE owner = :owner AND number > COALESCE((SELECT number "
            "FROM memory_items WHERE owner = :owner ORDER BY number DESC LIMIT 1 OFFSET :keep), 0)",
            owner=owner,
            keep=count,
        )

    async def put_summary(self, owner: str, summary: str) -> None:
        """Replace the summary."""
        await self.touch(owner)
        await self._transaction.execute(
            "UPDATE memories SET summary = :summary WHERE owner = :owner",
            owner=owner,
            summary=summary,
        )

    async def put_facts(self, owner: str, facts: Iterable[str]) -> None:
        """Replace the facts."""
        await self.touch(owner)
        await self._transaction.execute(
            "UPDATE memories SET facts = :facts WHERE owner = :owner",
            owner=owner,
            facts=json.dumps([well_formed(fact) for fact in facts], ensure_ascii=False),
        )

    async def touch(self, owner: str, seen_ms: int | None = None) -> None:
        """Note when an owner was last seen: now, or ``seen_ms``."""
        await self._transaction.execute(
            "INSERT INTO memories (owner, summary, facts, seen_at) VALUES (:owner, '', '[]', :at) "
            "ON CONFLICT (owner) DO UPDATE SET seen_at = excluded.seen_at",
            owner=owner,
            at=now_ms() if seen_ms is None else seen_ms,
        )

    async def rename(self, former: str, owner: str) -> None:
        """Move everything to an owner of whom nothing is remembered."""
        await self._transaction.execute(
            "INSERT INTO memories (owner, summary, facts, seen_at) "
            "SELECT :owner, summary, facts, seen_at FROM memories WHERE owner = :former",
            owner=owner,
            former=former,
        )
        await self._transaction.execute(
            "UPDATE memory_items SET owner = :owner WHERE owner = :former",
            owner=owner,
            former=former,
        )
        await self.erase(former)

    async def erase(self, owner: str) -> None:
        """Remove everything of an owner."""
        for table in ("memory_items", "memories"):
            await self._transaction.execute(
                f"DELETE FROM {table} WHERE owner = :owner",  # noqa: S608 - our tables
                owner=owner,
            )

    async def _row(self, owner: str) -> Row | None:
        return await self._transaction.fetch_one(
            "SELECT summary, facts FROM memories WHERE owner = :owner", owner=owner
        )

    async def _last(self, owner: str) -> int:
        row = await self._transaction.fetch_one(
            "SELECT MAX(number) AS last FROM memory_items WHERE owner = :owner", owner=owner
        )
        return int(row["last"] or 0) if row is not None else 0


def json_objects(texts: Iterable[object]) -> Iterable[InputItem]:
    """Yield the JSON objects among ``texts``."""
    for text in texts:
        with suppress(ValueError, TypeError, RecursionError):
            if isinstance(item := json.loads(text), dict):  # type: ignore[arg-type]  # see TypeError
                yield item


def on_memory(do: Callable[[MemoryRepository], Awaitable[T]]) -> Operation[Database, T]:
    """Return an operation on what is remembered, for the registry's link."""
    return Operation(lambda database: do(MemoryRepository(database)))

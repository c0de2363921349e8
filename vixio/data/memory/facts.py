"""Facts about users that survive a restart."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from contextlib import AsyncExitStack

from vixio.core.facts import MAX_FACT_CHARS, MAX_FACTS, FactStore, is_about
from vixio.data.database.database import Database
from vixio.data.database.link import Link, Rejected, Unavailable
from vixio.data.memory.fact_edits import EditFacts, FactRefused
from vixio.data.memory.records import device_key
from vixio.data.memory.repository import ChangeFacts, MemoryRepository, on_memory

LOCKS = 64
"""Changes of one owner run one after the other; by chance, so may those of two owners."""


class PersistentFactStore(FactStore):
    """Facts in the store. They are read each time, so that erased ones are gone at once.

    While the store is unavailable, changes are kept in the process and applied to the store at its
    next successful use. ``max_owners`` bounds how many owners' changes are kept.
    """

    def __init__(self, link: Link[Database], max_owners: int = 1_000) -> None:
        self._link = link
        self._locks = [asyncio.Lock() for _ in range(LOCKS)]
        self._waiting: OrderedDict[str, list[ChangeFacts]] = OrderedDict()
        self._max_owners = max_owners

    async def add(self, owner: str, fact: str) -> None:
        """Remember ``fact``."""
        cut = " ".join(fact.split())[:MAX_FACT_CHARS]
        if cut:
            await self._use(owner, lambda known: known if cut in known else [*known, cut])

    async def facts(self, owner: str) -> list[str]:
        """Return the facts; while the store is unavailable, those learned since."""
        return await self._use(owner, None)

    async def remove(self, owner: str, about: str) -> list[str]:
        """Forget the facts about ``about``."""
        before = await self._use(
            owner, lambda known: [fact for fact in known if not is_about(fact, about)], before=True
        )
        return [fact for fact in before if is_about(fact, about)]

    async def clear(self, owner: str) -> int:
        """Forget everything."""
        return len(await self._use(owner, lambda _: [], before=True))

    async def hand_over(self, owner: str, to: str) -> None:
        """Make them those of ``to``; while the store is unavailable, they stay where they are."""
        former, key = device_key(owner), device_key(to)
        async with AsyncExitStack() as locked:
            for number in sorted({hash(former) % LOCKS, hash(key) % LOCKS}):
                await locked.enter_async_context(self._locks[number])
            changes = self._waiting.get(former, ())

            async def there(store: MemoryRepository) -> None:
                if changes:
                    await store.change_facts(former, lambda known: _applied(known, changes))
                await store.hand_over_facts(former, key)

            try:
                await self._link.call(on_memory(there))
            except (Unavailable, Rejected):
                return
            self._waiting.pop(former, None)

    async def edit(self, owner: str, edit: EditFacts) -> list[str]:
        """Apply ``edit`` in the store now, and return the facts after it.

        Raises FactRefused, Rejected, and Unavailable: then nothing waits for the store to be
        changed later.
        """

        def attempt(known: list[str]) -> list[str]:
            try:
                return edit(known)
            except FactRefused:
                return known

        key = device_key(owner)
        async with self._locks[hash(key) % LOCKS]:
            waiting = [*self._waiting.get(key, ())]
            before = await self._stored(key, [*waiting, attempt])
            self._waiting.pop(key, None)
        return edit(_applied(before, waiting))

    async def flush(self) -> None:
        """Apply the waiting changes to the store, if it is available."""
        for key in list(self._waiting):
            async with self._locks[hash(key) % LOCKS]:
                try:
                    await self._stored(key, self._waiting.get(key, ()))
                except Unavailable:
                    return
                except Rejected:
                    pass  # as they would be again
                self._waiting.pop(key, None)

    async def _use(
        self, owner: str, change: ChangeFacts | None, *, before: bool = False
    ) -> list[str]:
        """Apply ``change``; return the facts after it, or ``before`` it."""
        key = device_key(owner)
        async with self._locks[hash(key) % LOCKS]:
            changes = [*self._waiting.get(key, ()), *([change] if change else ())]
            try:
                known = await self._stored(key, changes)
                self._waiting.pop(key, None)
            except Unavailable:
                known = []
                if change is not None:
                    self._waiting[key] = changes
                    self._waiting.move_to_end(key)
                while len(self._waiting) > self._max_owners:
                    self._waiting.popitem(last=False)
            except Rejected:
                self._waiting.pop(key, None)  # they would be rejected again, each time
                if change is not None:
                    raise
                known, changes = [], []
            if before and change is not None:
                changes = changes[:-1]
            return _applied(known, changes)

    async def _stored(self, key: str, changes: list[ChangeFacts] | tuple[()]) -> list[str]:
        """Apply ``changes`` to the store, and return the facts before them."""

        async def there(store: MemoryRepository) -> list[str]:
            if not changes:
                return list(await store.load_facts(key))
            return list(await store.change_facts(key, lambda known: _applied(known, changes)))

        return await self._link.call(on_memory(there))


def _applied(facts: list[str], changes: list[ChangeFacts] | tuple[()]) -> list[str]:
    for change in changes:
        facts = change(facts)[-MAX_FACTS:]
    return facts

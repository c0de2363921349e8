"""Stores on the sessions of the agent SDK, which has them for SQLAlchemy and for Redis."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, cast

from vixio.core.history import HistoryItem
from vixio.data.memory.records import (
    FACTS,
    SUMMARY,
    InputItem,
    Remembered,
    facts_item,
    summary_item,
    to_facts,
    to_input_items,
    to_summary,
    to_turns,
)
from vixio.data.memory.store import ChangeFacts, Known, MemoryStore, last_seen_first

if TYPE_CHECKING:
    from agents.memory import Session


class SessionStore(MemoryStore):
    """A store on the SDK's sessions. A subclass adds the operations that the SDK has not."""

    @abstractmethod
    def session(self, session_id: str) -> AbstractAsyncContextManager[Session]:
        """Return the SDK's session of that id, while the context is open."""

    @abstractmethod
    def exclusive(self, key: str) -> AbstractAsyncContextManager[object]:
        """Keep other processes from the facts under ``key``, as long as the context is open."""

    @abstractmethod
    async def trim(self, session_id: str, keep: int) -> None:
        """Delete all but the last ``keep`` items of a session."""

    @abstractmethod
    async def sessions(self) -> Iterable[tuple[str, float]]:
        """Return the ids of all sessions, and the time of each one's last write (epoch seconds)."""

    async def load(self, key: str) -> Remembered:
        turns = to_turns(await self._items(key))
        summary = to_summary(await self._items(key + SUMMARY, 1))
        return Remembered(turns, summary)

    async def save_turn(
        self, key: str, items: Sequence[HistoryItem], *, keep: int = 0, known: bool = False
    ) -> bool:
        as_known = True
        async with self.session(key) as session:
            if known:
                as_known = bool(await session.get_items(limit=1))
            await session.add_items(cast("list[Any]", to_input_items(items)))
        if keep:
            await self.trim(key, keep)
        return as_known

    async def unsave_turn(self, key: str, count: int) -> None:
        async with self.session(key) as session:
            for _ in range(count):
                await session.pop_item()

    async def save_summary(self, key: str, summary: str, *, keep: int | None) -> None:
        if summary:
            await self._replace(key + SUMMARY, summary_item(summary))
        else:
            await self._erase(key + SUMMARY)
        if keep is not None:
            await self.trim(key, keep)

    async def load_facts(self, key: str) -> Sequence[str]:
        return to_facts(await self._items(key + FACTS, 1))

    async def save_facts(self, key: str, facts: Sequence[str]) -> None:
        if facts:
            await self._replace(key + FACTS, facts_item(facts))
        else:
            await self._erase(key + FACTS)

    async def change_facts(self, key: str, change: ChangeFacts) -> Sequence[str]:
        async with self.exclusive(key):
            return await super().change_facts(key, change)

    async def clear(self, key: str) -> bool:
        there = False
        for session_id in (key, key + SUMMARY, key + FACTS):
            there = bool(await self._items(session_id, 1)) or there
            await self._erase(session_id)
        return there

    async def known(self) -> Sequence[Known]:
        return last_seen_first(await self.sessions())

    async def _items(self, session_id: str, limit: int | None = None) -> Sequence[InputItem]:
        async with self.session(session_id) as session:
            return cast("list[InputItem]", await session.get_items(limit=limit))

    async def _erase(self, session_id: str) -> None:
        async with self.session(session_id) as session:
            await session.clear_session()

    async def _replace(self, session_id: str, item: InputItem) -> None:
        """Make ``item`` the only one of a session; it is written before the old one is removed."""
        async with self.session(session_id) as session:
            made: list[Any] = [item]
            await session.add_items(made)
        await self.trim(session_id, 1)

"""The interface of a store, and its implementation on the sessions of the agent SDK."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from vixio.core.errors import VixioError
from vixio.core.history import HistoryItem
from vixio.memory.records import (
    FACTS,
    SUMMARY,
    InputItem,
    Remembered,
    facts_item,
    key_of,
    summary_item,
    to_facts,
    to_input_items,
    to_summary,
    to_turns,
)

if TYPE_CHECKING:
    from agents.memory import Session

IO_TIMEOUT_S = 5
"""For one answer of a database; what takes longer is held for broken."""


class StoreFailed(VixioError):
    """The store cannot be used; one line that says why and what to do."""


@dataclass(frozen=True, slots=True)
class Known:
    """A device that a store knows. ``seen``: seconds since the epoch, of the last turn or fact."""

    key: str
    seen: float


class MemoryStore(ABC):
    """What is remembered of devices. ``key``: :func:`~vixio.memory.records.device_key`.

    Every method may raise whatever its database raises, and may take as long; who calls sees to
    that. All are called on one event loop, and for one device one after the other.
    """

    name: str
    """As in the settings."""
    place: str
    """Where it is, for people; without secrets."""

    @abstractmethod
    async def open(self) -> None:
        """Connect, and make what is not there yet. May be called again after it failed."""

    @abstractmethod
    async def close(self) -> None:
        """Disconnect. Idempotent."""

    @abstractmethod
    async def load(self, key: str) -> Remembered:
        """Return the conversation with a device, oldest first; empty if it is not known."""

    @abstractmethod
    async def save_turn(
        self, key: str, items: Sequence[HistoryItem], *, keep: int = 0, known: bool = False
    ) -> bool:
        """Add the items of a turn in one transaction, and clean away all but the last ``keep``.

        ``keep`` 0: all stay. ``known``: there should be earlier ones; false is returned if there
        are none, since then somebody has erased them.
        """

    @abstractmethod
    async def unsave_turn(self, key: str, count: int) -> None:
        """Take the last ``count`` items back."""

    @abstractmethod
    async def save_summary(self, key: str, summary: str, *, keep: int) -> None:
        """Replace the summary, and clean away all but the last ``keep`` items of turns."""

    @abstractmethod
    async def load_facts(self, key: str) -> Sequence[str]:
        """Return what is known of a user, in the order in which it was learned."""

    @abstractmethod
    async def save_facts(self, key: str, facts: Sequence[str]) -> None:
        """Replace what is known of a user."""

    @abstractmethod
    async def clear(self, key: str) -> bool:
        """Erase a device; false if nothing was known of it."""

    @abstractmethod
    async def known(self) -> Sequence[Known]:
        """Return all devices, the one seen last first."""

    async def move(self, former: str, key: str) -> None:
        """Move everything under ``former`` to ``key``, unless something is stored there already."""
        old = await self.load(former)
        facts = await self.load_facts(former)
        if not (old.turns or old.summary or facts):
            return
        new = await self.load(key)
        if new.turns or new.summary or await self.load_facts(key):
            return
        for turn in old.turns:
            await self.save_turn(key, turn)
        if old.summary:
            await self.save_summary(key, old.summary, keep=sum(map(len, old.turns)))
        if facts:
            await self.save_facts(key, facts)
        await self.clear(former)

    async def expire(self, before: float) -> int:
        """Erase the devices not seen since ``before`` (seconds since the epoch); return how many.

        A device is seen as a whole: one that is talked to every day keeps its old facts.
        """
        old = [device.key for device in await self.known() if device.seen < before]
        for key in old:
            await self.clear(key)
        return len(old)


class SessionStore(MemoryStore):
    """A store on the SDK's sessions; a subclass says which, and what the SDK has no method for."""

    @abstractmethod
    def session(self, session_id: str) -> AbstractAsyncContextManager[Session]:
        """Return the SDK's session of that id, for as long as the context is open."""

    @abstractmethod
    async def trim(self, session_id: str, keep: int) -> None:
        """Delete all but the last ``keep`` items of a session."""

    @abstractmethod
    async def sessions(self) -> Iterable[tuple[str, float]]:
        """Return the ids of all sessions, and when each was written to (seconds, epoch)."""

    async def erase(self, session_id: str) -> None:
        """Delete a session."""
        async with self.session(session_id) as session:
            await session.clear_session()

    async def settle(self) -> None:
        """See to it that what was deleted is nowhere any more. By default it is not."""

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

    async def save_summary(self, key: str, summary: str, *, keep: int) -> None:
        await self._replace(key + SUMMARY, summary_item(summary))
        await self.trim(key, keep)

    async def load_facts(self, key: str) -> Sequence[str]:
        return to_facts(await self._items(key + FACTS, 1))

    async def save_facts(self, key: str, facts: Sequence[str]) -> None:
        if facts:
            await self._replace(key + FACTS, facts_item(facts))
        else:
            await self.erase(key + FACTS)
        await self.settle()

    async def clear(self, key: str) -> bool:
        there = False
        for session_id in (key, key + SUMMARY, key + FACTS):
            there = bool(await self._items(session_id, 1)) or there
            await self.erase(session_id)
        await self.settle()
        return there

    async def known(self) -> Sequence[Known]:
        seen: dict[str, float] = {}
        for session_id, at in await self.sessions():
            key = key_of(session_id)
            seen[key] = max(at, seen.get(key, 0.0))
        newest_first = sorted(seen.items(), key=lambda pair: -pair[1])
        return [Known(key, at) for key, at in newest_first]

    async def _items(self, session_id: str, limit: int | None = None) -> Sequence[InputItem]:
        async with self.session(session_id) as session:
            return cast("list[InputItem]", await session.get_items(limit=limit))

    async def _replace(self, session_id: str, item: InputItem) -> None:
        """Make ``item`` the one of a session. The new one is there before the old one goes."""
        async with self.session(session_id) as session:
            made: list[Any] = [item]
            await session.add_items(made)
        await self.trim(session_id, 1)

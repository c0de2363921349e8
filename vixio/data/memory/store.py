"""The interface of a store, and what is shared by its implementations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from vixio.core.facts import MAX_FACTS
from vixio.core.history import HistoryItem
from vixio.data.database.link import Failed, Trouble
from vixio.data.memory.records import PERSON_KEY, Remembered, key_of

IO_TIMEOUT_S = 5
"""For one answer of a database; a slower one is treated as a failure."""


ChangeFacts = Callable[[list[str]], list[str]]
"""Returns a new list of facts, made from the current one."""


class StoreFailed(Failed):
    """The store cannot be used."""


@dataclass(frozen=True, slots=True)
class Known:
    """A device in a store. ``seen``: time of the last turn or fact, in seconds since the epoch."""

    key: str
    seen: float


class MemoryStore(ABC):
    """The stored memory of devices. ``key``: :func:`~vixio.data.memory.records.device_key`.

    A method may raise any error of its database, and may block its thread as long as the database
    does; the caller handles both. All are called on one event loop that nothing else uses, and for
    one device one after the other.
    """

    name: str
    """The name in the settings."""
    place: str
    """Its location, for messages; without secrets."""

    @abstractmethod
    async def open(self) -> None:
        """Connect, and create what is missing. May be called again after a failure."""

    @abstractmethod
    async def close(self) -> None:
        """Disconnect. Idempotent."""

    @abstractmethod
    def trouble(self, error: Exception) -> Trouble:
        """Return what an error of the database says."""

    @abstractmethod
    async def load(self, key: str) -> Remembered:
        """Return the conversation with a device, oldest first; empty for an unknown device."""

    @abstractmethod
    async def save_turn(
        self, key: str, items: Sequence[HistoryItem], *, keep: int = 0, known: bool = False
    ) -> bool:
        """Add the items of a turn in one transaction, and remove all but the last ``keep``.

        ``keep`` 0: remove none. ``known``: earlier items are expected; returns false if there are
        none, which means that they were erased from outside.
        """

    @abstractmethod
    async def unsave_turn(self, key: str, count: int) -> None:
        """Remove the last ``count`` items."""

    @abstractmethod
    async def save_summary(self, key: str, summary: str, *, keep: int | None) -> None:
        """Replace the summary, and remove all but the last ``keep`` items of turns; None: none.

        Empty: erase it.
        """

    @abstractmethod
    async def load_facts(self, key: str) -> Sequence[str]:
        """Return the facts about a user, oldest first."""

    @abstractmethod
    async def save_facts(self, key: str, facts: Sequence[str]) -> None:
        """Replace the facts about a user."""

    @abstractmethod
    async def clear(self, key: str) -> bool:
        """Erase a device; return false if it was unknown."""

    @abstractmethod
    async def known(self) -> Sequence[Known]:
        """Return all devices, the last seen first."""

    async def change_facts(self, key: str, change: ChangeFacts) -> Sequence[str]:
        """Replace the facts by what ``change`` makes of them; return those before.

        A person's devices may be in several processes: a store that can keeps them apart.
        """
        before = list(await self.load_facts(key))
        if (after := change(before)) != before:
            await self.save_facts(key, after)
        return before

    async def hand_over_facts(self, former: str, key: str) -> None:
        """Move the facts under ``former`` to those under ``key``."""
        if not (facts := list(await self.load_facts(former))):
            return
        # In this order: what is there twice for a moment is moved again, and not lost.
        await self.change_facts(key, lambda known: _joined(known, facts))
        await self.change_facts(former, lambda left: [fact for fact in left if fact not in facts])

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
        """Erase the devices not seen since ``before`` (seconds since the epoch); return the number.

        All records of a device count together: a device in daily use keeps its old facts. Those of
        people stay, since their use is not seen here.
        """
        old = [
            device.key
            for device in await self.known()
            if device.seen < before and not device.key.startswith(PERSON_KEY)
        ]
        for key in old:
            await self.clear(key)
        return len(old)


def _joined(facts: list[str], more: list[str]) -> list[str]:
    return [*facts, *(fact for fact in more if fact not in facts)][-MAX_FACTS:]


def last_seen_first(sessions: Iterable[tuple[str, float]]) -> Sequence[Known]:
    """Return the devices of ``sessions``: pairs of an id and the time of its last write."""
    seen: dict[str, float] = {}
    for session_id, at in sessions:
        key = key_of(session_id)
        seen[key] = max(at, seen.get(key, 0.0))
    newest_first = sorted(seen.items(), key=lambda pair: -pair[1])
    return [Known(key, at) for key, at in newest_first]

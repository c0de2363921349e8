"""Facts about a user that the assistant is asked to remember, and is asked to forget."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import OrderedDict

from vixio.core.device import PERSON_PREFIX

MAX_FACTS = 100
"""Of one owner; the oldest is forgotten for a new one."""

MAX_FACT_CHARS = 500

_WORD = re.compile(r"\w+")


def person_owner(person: str) -> str:
    """Return the owner of the facts about a person, by the person's id. It is no device's id."""
    return f"{PERSON_PREFIX}{person}"


class FactStore(ABC):
    """Facts by their owner: a device's id, or :func:`person_owner`.

    Facts of one owner are never returned for another.
    """

    @abstractmethod
    async def add(self, owner: str, fact: str) -> None:
        """Remember ``fact``, cut to ``MAX_FACT_CHARS``; one that is known is not added again."""

    @abstractmethod
    async def facts(self, owner: str) -> list[str]:
        """Return what is remembered, oldest first."""

    @abstractmethod
    async def remove(self, owner: str, about: str) -> list[str]:
        """Forget the facts that contain all words of ``about``, and return them."""

    @abstractmethod
    async def clear(self, owner: str) -> int:
        """Forget everything, and return how many facts it was."""

    @abstractmethod
    async def hand_over(self, owner: str, to: str) -> None:
        """Make all facts of ``owner`` those of ``to``, which has them besides its own."""


def is_about(fact: str, about: str) -> bool:
    """Return whether ``fact`` contains all words of ``about``; false if there are none."""
    wanted = _WORD.findall(about.casefold())
    folded = fact.casefold()
    return bool(wanted) and all(word in folded for word in wanted)


class InMemoryFactStore(FactStore):
    """Facts that last as long as the process; of the owners seen last."""

    def __init__(self, max_owners: int = 10_000) -> None:
        self._facts: OrderedDict[str, list[str]] = OrderedDict()
        self._max_owners = max_owners

    async def add(self, owner: str, fact: str) -> None:
        """Remember ``fact``."""
        cut = " ".join(fact.split())[:MAX_FACT_CHARS]
        known = self._facts.setdefault(owner, [])
        self._facts.move_to_end(owner)
        if cut and cut not in known:
            known.append(cut)
            del known[:-MAX_FACTS]
        while len(self._facts) > self._max_owners:
            self._facts.popitem(last=False)

    async def facts(self, owner: str) -> list[str]:
        """Return what is remembered."""
        return list(self._facts.get(owner, ()))

    async def remove(self, owner: str, about: str) -> list[str]:
        """Forget what is about ``about``."""
        known = self._facts.get(owner, [])
        gone = [fact for fact in known if is_about(fact, about)]
        known[:] = [fact for fact in known if fact not in gone]
        return gone

    async def clear(self, owner: str) -> int:
        """Forget everything."""
        return len(self._facts.pop(owner, ()))

    async def hand_over(self, owner: str, to: str) -> None:
        """Make them those of ``to``."""
        for fact in self._facts.pop(owner, ()):
            await self.add(to, fact)

"""Facts added, changed and removed one by one, by people who have read them before.

An edit is a pure function of the list, so that a store applies it to what is there at that moment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Final

from vixio.core.errors import VixioError
from vixio.core.facts import MAX_FACT_CHARS, MAX_FACTS

ID_CHARS: Final = 16

EditFacts = Callable[[list[str]], list[str]]
"""Returns a new list. Raises FactRefused."""


class FactRefused(VixioError):
    """An edit that cannot be made. The message says why and what to do, in one line."""


class FactUnknown(FactRefused):
    """The fact is not there, or not any more."""


def fact_id(fact: str) -> str:
    """Return the id of a fact: a hash of its words.

    An edit that names a fact by it never hits another one, whatever was changed in between.
    """
    return sha256(fact.encode("utf-8", "surrogatepass")).hexdigest()[:ID_CHARS]


def checked_fact(text: str) -> str:
    """Return a fact as it is kept. Raises FactRefused."""
    fact = " ".join(text.split())
    if not fact or len(fact) > MAX_FACT_CHARS:
        raise FactRefused(f"a fact has 1 to {MAX_FACT_CHARS} characters")
    return fact


def adding(text: str) -> EditFacts:
    """Return the edit that adds a fact at the end. Raises FactRefused."""
    fact = checked_fact(text)

    def edit(facts: list[str]) -> list[str]:
        _refuse_known(facts, fact)
        if len(facts) >= MAX_FACTS:
            raise FactRefused(f"{MAX_FACTS} facts are remembered already: remove one first")
        return [*facts, fact]

    return edit


def changing(wanted: str, text: str) -> EditFacts:
    """Return the edit that gives the fact of the id ``wanted`` other words. Raises FactRefused."""
    fact = checked_fact(text)

    def edit(facts: list[str]) -> list[str]:
        place = _place(facts, wanted)
        if facts[place] != fact:
            _refuse_known(facts, fact)
        return [*facts[:place], fact, *facts[place + 1 :]]

    return edit


def removing(wanted: str) -> EditFacts:
    """Return the edit that removes the fact of the id ``wanted``."""

    def edit(facts: list[str]) -> list[str]:
        place = _place(facts, wanted)
        return [*facts[:place], *facts[place + 1 :]]

    return edit


def _place(facts: Sequence[str], wanted: str) -> int:
    for place, fact in enumerate(facts):
        if fact_id(fact) == wanted:
            return place
    raise FactUnknown("this fact is not remembered, or not any more: read the facts again")


def _refuse_known(facts: Sequence[str], fact: str) -> None:
    if fact in facts:
        raise FactRefused("this fact is remembered already")

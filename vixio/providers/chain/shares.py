"""How several providers share the time until one of them answers. Pure arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LEAST = 0.5
"""Seconds that a provider gets in any case: one that is asked in vain costs its pause."""


@dataclass(frozen=True, slots=True)
class Wish:
    """The most that a provider takes; ``fixed``: it was set by hand, and is not cut to fit."""

    seconds: float
    fixed: bool = False


def share(wishes: Sequence[Wish], left: float) -> float:
    """Return what the first of ``wishes`` gets of the ``left`` seconds; the others want some too.

    The fixed ones get theirs; what remains is shared equally, and what somebody does not need goes
    to the others.
    """
    mine = wishes[0]
    remaining = left - sum(wish.seconds for wish in wishes[1:] if wish.fixed)
    if mine.fixed:
        return max(LEAST, min(mine.seconds, remaining))
    open_wishes = sorted(wish.seconds for wish in wishes if not wish.fixed)
    for number, seconds in enumerate(open_wishes):
        equal = remaining / (len(open_wishes) - number)
        if seconds > equal or seconds >= mine.seconds:
            return max(LEAST, min(mine.seconds, equal))
        remaining -= seconds
    return max(LEAST, remaining)

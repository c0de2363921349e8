"""How several providers share the time until one of them answers. Pure arithmetic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

MIN_SECONDS: Final = 0.5
"""Every provider gets this much, even when nothing is left."""

_OF_A_GROUP: Final = 2


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """The most that a provider may take; ``fixed``: configured, so it is not cut to fit."""

    seconds: float
    fixed: bool = False


def time_share(limits: Sequence[TimeLimit], left: float) -> float:
    """Return the part of the ``left`` seconds for the first of ``limits``; the rest follow it.

    Fixed ones get their limit. What remains is shared equally, and what one does not need goes to
    the others.
    """
    mine = limits[0]
    remaining = left - sum(limit.seconds for limit in limits[1:] if limit.fixed)
    if mine.fixed:
        return max(MIN_SECONDS, min(mine.seconds, remaining))
    flexible = sorted(limit.seconds for limit in limits if not limit.fixed)
    for number, seconds in enumerate(flexible):
        equal = remaining / (len(flexible) - number)
        if seconds > equal or seconds >= mine.seconds:
            return max(MIN_SECONDS, min(mine.seconds, equal))
        remaining -= seconds
    return max(MIN_SECONDS, remaining)


def equal_share(seconds: float, left: float, groups: Sequence[int]) -> float:
    """Return the part of the ``left`` seconds for the first of equal candidates.

    ``seconds``: the limit of each. ``groups``: of each candidate, as of :func:`sharing`.
    """
    return time_share([TimeLimit(seconds)] * len(sharing(groups)), left)


def sharing(groups: Sequence[int]) -> list[int]:
    """Return the positions of the candidates that time is reserved for: two of a group at most.

    Ten servers for one job are not likely to hang together; a tenth of the time would be too little
    for each.
    """
    seen: Counter[int] = Counter()
    kept: list[int] = []
    for position, group in enumerate(groups):
        seen[group] += 1
        if seen[group] <= _OF_A_GROUP:
            kept.append(position)
    return kept

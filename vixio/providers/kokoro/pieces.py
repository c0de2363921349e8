"""Cuts a text into the pieces that are synthesised one after another.

The network computes a piece as a whole, at some 0.6 of real time on one core. So the first piece is
short, for a quick first sound, and each one may be longer than the one before, whose sound covers
its computation. Cuts are at the ends of sentences and at commas only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from vixio.providers.spoken_text import cost

_SENTENCE: Final = re.compile(
    r"(?<=[.!?…])\s+|(?<=[.!?…][\"”’)])\s+|(?<=[。！？])(?![”’」』）])|(?<=[。！？][”’」』）])|\n+"
)
_CLAUSE: Final = re.compile(r"(?<=[,;:])(?=\s)|(?<=[，；：])")

FIRST: Final = 32
"""Length of the first piece, in Latin letters: two seconds of speech."""
SHORTEST: Final = 12
"""Clauses that are shorter stay with the next one: a cut costs a pause."""
GROWTH: Final = 1.6
"""Each piece may be so many times as long as the one before: 1 / 0.6."""


def pieces(text: str) -> Iterator[str]:
    """Yield the pieces of ``text``."""
    limit: float = FIRST
    for sentence in _SENTENCE.split(text):
        current = ""
        for clause in _CLAUSE.split(sentence):
            longer = current + clause
            if cost(current) >= SHORTEST and cost(longer) > limit:
                yield current.strip()
                limit *= GROWTH
                current = clause
            else:
                current = longer
        if current.strip():
            yield current.strip()
            limit *= GROWTH

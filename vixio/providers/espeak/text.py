"""What eSpeak NG is given to speak: in which pieces, and for which voice."""

from __future__ import annotations

from vixio.providers import spoken_text

PIECE_COST = 240
"""A piece's length in Latin letters. It takes about 2 ms and gives about 15 s of speech: no other
device waits longer for its turn, and no reply holds more audio than that."""

_WIDE_COST = 4
"""A digit or a character of a script that writes syllables or words, in Latin letters' time."""


def split(text: str) -> list[str]:
    """Cut ``text`` into pieces of at most :data:`PIECE_COST`, at the best place that each has."""
    return spoken_text.split(text, _fitting)


def _fitting(text: str) -> int:
    """Return how many characters of ``text`` make up one piece, at least one."""
    cost = 0
    for position, character in enumerate(text):
        cost += _WIDE_COST if character.isdigit() or character >= "\u0900" else 1
        if cost > PIECE_COST:
            return max(position, 1)
    return len(text)

"""The pieces of a text that eSpeak NG speaks at a time."""

from __future__ import annotations

from typing import Final

from vixio.providers.spoken_text import split_by_cost

PIECE_COST: Final = 240
"""A piece's length in Latin letters. It takes about 2 ms and gives about 15 s of speech: no other
device waits longer for its turn, and no reply holds more audio than that."""


def split(text: str) -> list[str]:
    """Cut ``text`` into pieces of at most :data:`PIECE_COST`, at the best place that each has."""
    return split_by_cost(text, PIECE_COST)

"""What a voice is given to speak: clean, and in pieces that it can take."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

_BREAKS = (
    re.compile(r"(?:[.!?…]+[\"'”’)\]]*(?=\s)|[。！？；]+[”’」』）]*|\n)"),
    re.compile(r"(?:[,;:](?=\s)|[，、：]|\s[–—-](?=\s))"),
    re.compile(r"\s"),
)
"""Where a long text is cut, the best first: behind a sentence, a clause, a word."""


def clean(text: str) -> str:
    """Return ``text`` without control characters; empty if it holds nothing that has a sound.

    Punctuation and emoji alone have none.
    """
    if not any(unicodedata.category(character)[0] in "LN" for character in text):
        return ""
    kept = (" " if unicodedata.category(c) in {"Cc", "Cs", "Cn"} else c for c in text)
    return "".join(kept).strip()


def split(text: str, fitting: Callable[[str], int]) -> list[str]:
    """Cut ``text`` at the best places into pieces.

    ``fitting``: tells how many characters from the start of a text one piece can have, at least 1.
    """
    pieces = []
    while len(text) > (limit := fitting(text)):
        cut = _cut(text, limit)
        pieces.append(text[:cut].strip())
        text = text[cut:].lstrip()
    pieces.append(text.strip())
    return [piece for piece in pieces if piece]


def _cut(text: str, limit: int) -> int:
    for pattern in _BREAKS:
        # One character more, for the patterns that look at what follows.
        ends = [match.end() for match in pattern.finditer(text, 0, limit + 1)]
        for end in reversed(ends):
            if 0 < end <= limit:
                return end
    return limit

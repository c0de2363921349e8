"""What eSpeak NG is given to speak: clean, in pieces, and for which voice."""

from __future__ import annotations

import re
import unicodedata

PIECE_COST = 240
"""A piece's length in Latin letters. It takes about 2 ms and gives about 15 s of speech: no other
device waits longer for its turn, and no reply holds more audio than that."""

_WIDE_COST = 4
"""A digit or a character of a script that writes syllables or words, in Latin letters' time."""

_BREAKS = (
    re.compile(r"(?:[.!?…]+[\"'”’)\]]*(?=\s)|[。！？；]+[”’」』）]*|\n)"),
    re.compile(r"(?:[,;:](?=\s)|[，、：]|\s[–—-](?=\s))"),
    re.compile(r"\s"),
)
"""Where a long text is cut, the best first: behind a sentence, a clause, a word."""

_KANA = re.compile(r"[\u3041-\u30ff]")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_READS_HAN = frozenset({"zh", "cmn", "yue", "hak", "ja", "ko"})


def clean(text: str) -> str:
    """Return ``text`` without control characters; empty if it holds nothing that has a sound.

    Punctuation and emoji alone have none.
    """
    if not any(unicodedata.category(character)[0] in "LN" for character in text):
        return ""
    kept = (" " if unicodedata.category(c) in {"Cc", "Cs", "Cn"} else c for c in text)
    return "".join(kept).strip()


def spoken_language(text: str, language: str) -> str:
    """Return the language (BCP 47) to read ``text`` in, ``language`` or what its script demands.

    Voices of alphabetic languages read Chinese out as the names of its characters.
    """
    if language.partition("-")[0].lower() in _READS_HAN:
        return language
    if _KANA.search(text):
        return "ja"
    return "zh" if _HAN.search(text) else language


def split(text: str) -> list[str]:
    """Cut ``text`` into pieces of at most :data:`PIECE_COST`, at the best place that each has."""
    pieces = []
    while len(text) > (limit := _fitting(text)):
        cut = _cut(text, limit)
        pieces.append(text[:cut].strip())
        text = text[cut:].lstrip()
    pieces.append(text.strip())
    return [piece for piece in pieces if piece]


def _fitting(text: str) -> int:
    """Return how many characters of ``text`` make up one piece, at least one."""
    cost = 0
    for position, character in enumerate(text):
        cost += _WIDE_COST if character.isdigit() or character >= "\u0900" else 1
        if cost > PIECE_COST:
            return max(position, 1)
    return len(text)


def _cut(text: str, limit: int) -> int:
    for pattern in _BREAKS:
        # One character more, for the patterns that look at what follows.
        ends = [match.end() for match in pattern.finditer(text, 0, limit + 1)]
        for end in reversed(ends):
            if 0 < end <= limit:
                return end
    return limit

"""Prepares text for TTS: cleaning, splitting into pieces, and the detection of its language."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

_BREAKS = (
    re.compile(r"(?:[.!?…]+[\"'”’)\]]*(?=\s)|[。！？；]+[”’」』）]*|\n)"),
    re.compile(r"(?:[,;:](?=\s)|[，、：]|\s[–—-](?=\s))"),
    re.compile(r"\s"),
)
"""Places to split a long text, best first: after a sentence, a clause, a word."""

_KANA = re.compile(r"[\u3041-\u30ff]")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_WIDE_COST = 4
"""Cost of a digit, or of a character that stands for a syllable or word, in Latin letters."""
_READS_HAN = frozenset({"zh", "cmn", "yue", "hak", "ja", "ko"})


def clean(text: str) -> str:
    """Return ``text`` without control characters; empty if it holds no letter or digit.

    Text of only punctuation and emoji cannot be spoken.
    """
    if not any(unicodedata.category(character)[0] in "LN" for character in text):
        return ""
    kept = (" " if unicodedata.category(c) in {"Cc", "Cs", "Cn"} else c for c in text)
    return "".join(kept).strip()


def split(text: str, fitting: Callable[[str], int]) -> list[str]:
    """Split ``text`` into pieces at the best places.

    ``fitting`` returns how many characters at the start of a text fit into one piece, at least 1.
    """
    pieces = []
    while len(text) > (limit := fitting(text)):
        cut = _cut(text, limit)
        pieces.append(text[:cut].strip())
        text = text[cut:].lstrip()
    pieces.append(text.strip())
    return [piece for piece in pieces if piece]


def cost(text: str) -> int:
    """Return how many Latin letters take as long to speak as ``text``."""
    return sum(_WIDE_COST if each.isdigit() or each >= "\u0900" else 1 for each in text)


def split_by_cost(text: str, most: int) -> list[str]:
    """Split ``text`` into pieces that take at most as long to speak as ``most`` Latin letters."""

    def fitting(rest: str) -> int:
        sum_of_costs = 0
        for position, character in enumerate(rest):
            sum_of_costs += cost(character)
            if sum_of_costs > most:
                return max(position, 1)
        return len(rest)

    return split(text, fitting)


def _cut(text: str, limit: int) -> int:
    for pattern in _BREAKS:
        # One character more, for the patterns with a look-ahead.
        ends = [match.end() for match in pattern.finditer(text, 0, limit + 1)]
        for end in reversed(ends):
            if 0 < end <= limit:
                return end
    return limit


def spoken_language(text: str, language: str) -> str:
    """Return the language (BCP 47) of the voice for ``text``: ``language``, or that of its script.

    Voices of alphabetic languages cannot read Chinese or Japanese.
    """
    if language.partition("-")[0].lower() in _READS_HAN:
        return language
    if _KANA.search(text):
        return "ja"
    return "zh" if _HAN.search(text) else language

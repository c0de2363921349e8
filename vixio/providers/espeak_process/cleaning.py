"""Text without what eSpeak NG crashes on or has no sound for.

Version 1.52 copies the names of symbols into buffers that are too small (Braille patterns and
circled letters end the process in a dozen languages), and has limits for words and runs of
combining marks. Text comes from users, tools and models, so it is all cleaned. That does not make
it safe: the library runs in worker processes for what is not known here.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

MAX_MARKS: Final = 3
"""Combining marks in a row: no orthography needs more (Hebrew, Thai and Vietnamese need two)."""

MAX_WORD: Final = 40
"""Letters of a word; a longer one is cut. The library leaves out what is beyond some 150 bytes."""

_CIRCLED: Final = re.compile("[\u2460-\u24ff\u3200-\u33ff\uff00-\uffef\U0001f100-\U0001f1ff]+")
"""Letters, digits and words in circles, squares and full width."""

_SYMBOLS: Final = re.compile("[\u2300-\u2bff\U0001d000-\U0001ffff]")
"""Braille, pictographs, box drawing, dingbats, musical signs. They have names, not sounds."""

_STRAY: Final = re.compile(r"`|(?<![^\W_])-(?=[^\W\d_])")
"""A grave accent, and a hyphen before a letter that stands behind none: the Vietnamese voices crash
on them."""

_DROPPED: Final = frozenset({"Cf", "Co", "Me"})
"""Format characters, private use, enclosing marks."""
_SPACED: Final = frozenset({"Cc", "Cs", "Cn", "Zl", "Zp"})
_JOINERS: Final = frozenset("\u200c\u200d")
"""Part of the spelling in Persian and Indic scripts, in a row with combining marks."""

_LONG_WORD: Final = re.compile(rf"[^\s\u2e80-\U0010ffff]{{{MAX_WORD}}}(?=[^\s\u2e80-\U0010ffff])")


def speakable(text: str) -> str:
    """Return ``text`` as the library can be given it."""
    if text.isascii() and text.isprintable():  # as most sentences are
        return _bounded(text)
    text = _CIRCLED.sub(lambda run: unicodedata.normalize("NFKC", run[0]), text)
    text = _SYMBOLS.sub(" ", unicodedata.normalize("NFC", text))
    kept: list[str] = []
    marks = MAX_MARKS  # none without a letter before it
    for character in text:
        category = unicodedata.category(character)
        if category in {"Mn", "Mc"} or character in _JOINERS:
            if marks < MAX_MARKS and not _is_selector(character):
                kept.append(character)
            marks += 1
            continue
        marks = 0 if category[0] in "LN" else MAX_MARKS  # marks belong to letters and digits
        if category in _SPACED:
            kept.append(" ")
        elif category not in _DROPPED:
            kept.append(character)
    return _bounded("".join(kept))


def _bounded(text: str) -> str:
    return _LONG_WORD.sub(r"\g<0> ", _STRAY.sub(" ", text))


def _is_selector(character: str) -> bool:
    return "\ufe00" <= character <= "\ufe0f" or character >= "\U000e0100"

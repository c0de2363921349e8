"""Splits typed or recognised text into tokens, in the same way for every language.

A token is a word, a number in digits, or one Chinese or Japanese character: with characters as its
words, a closed grammar needs no word segmentation.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from vixio.core.traditional import simplified

_CHAR = "\u3005\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u9fff"
"""Han and kana, which are written without spaces."""
_UNSPACED = re.compile(f"[{_CHAR}]")
_TOKEN = re.compile(
    rf"(?<![\w-])-\d+(?:\.\d+)?|\d+(?:\.\d+)?|[{_CHAR}]|[^\W\d_{_CHAR}]+(?:'[^\W\d_{_CHAR}]+)*"
)
_MARKS = re.compile("[\u0300-\u036f']")
_LETTERS = re.compile("ß|œ|æ|(?<=[aou])e")
_PLAIN = {"ß": "ss", "œ": "o", "æ": "a", "e": ""}
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'", "`": "'"})
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")

MAX_TOKENS = 60
"""Longer input is not a command; matching it would only take time."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A substitution in typed text before it is split into tokens."""

    pattern: re.Pattern[str]
    replacement: str


@dataclass(frozen=True, slots=True)
class Tokens:
    """``words`` in lower case, and the position of each in ``text`` (for wildcards)."""

    text: str
    words: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]

    def folded(self) -> Tokens:
        """Return the same with the words as they are compared, see :func:`fold`."""
        return replace(self, words=tuple(map(fold, self.words)))

    def original(self, start: int, end: int) -> str:
        """Return the original text of the tokens ``start`` … ``end`` - 1."""
        return self.text[self.spans[start][0] : self.spans[end - 1][1]]


def tokenize(text: str, rewrites: Sequence[Rewrite] = ()) -> Tokens:
    """Split ``text`` into tokens, ignoring case and punctuation."""
    text = unicodedata.normalize("NFKC", text).translate(_APOSTROPHES)
    text = _THOUSANDS.sub("", text).strip()
    for rewrite in rewrites:
        text = rewrite.pattern.sub(rewrite.replacement, text)
    found = list(_TOKEN.finditer(text))[: MAX_TOKENS + 1]
    words = tuple(match.group().lower() for match in found)
    return Tokens(text, words, tuple(match.span() for match in found))


@lru_cache(maxsize=8192)
def fold(word: str) -> str:
    """Return ``word`` without what people leave out when they type: case, accents, apostrophes.

    "für", "fur" and "fuer" are one word, as are "s'il" and "sil", and "燈" and "灯". Kana keep
    their marks.
    """
    plain = _MARKS.sub("", unicodedata.normalize("NFD", word.lower())).translate(simplified())
    return _LETTERS.sub(lambda found: _PLAIN[found.group()], unicodedata.normalize("NFC", plain))


def is_unspaced(word: str) -> bool:
    """Return whether ``word`` is one character that is written without spaces."""
    return _UNSPACED.fullmatch(word) is not None


def join(words: Sequence[str]) -> str:
    """Join tokens to text: spaces between words, none between Chinese or Japanese characters."""
    text = ""
    for word in words:
        gap = " " if text and not (is_unspaced(word[:1]) and is_unspaced(text[-1])) else ""
        text += gap + word
    return text

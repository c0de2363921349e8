"""Splits typed or recognised text into tokens, in the same way for every language.

A token is a word, a number in digits, or one Chinese character: with characters as its words, a
closed grammar needs no word segmentation.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

_HAN = "\u3400-\u9fff"
_TOKEN = re.compile(
    rf"(?<![\w-])-\d+(?:\.\d+)?|\d+(?:\.\d+)?|[{_HAN}]|[^\W\d_{_HAN}]+(?:'[^\W\d_{_HAN}]+)*"
)
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


def is_han(word: str) -> bool:
    """Return whether ``word`` is one Chinese character, which is written without spaces."""
    return len(word) == 1 and "\u3400" <= word <= "\u9fff"


def join(words: Sequence[str]) -> str:
    """Join tokens to text: spaces between words, none between Chinese characters."""
    text = ""
    for word in words:
        gap = " " if text and not (is_han(word) and is_han(text[-1])) else ""
        text += gap + word
    return text

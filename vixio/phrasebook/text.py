"""From typed or heard text to tokens, the same for every language.

A token is a word, a number in digits, or one Chinese character: a closed grammar needs no word
segmentation when characters are its words.
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
"""Longer input is no command; matching it would only cost time."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A substitution made on typed text before it is cut into tokens."""

    pattern: re.Pattern[str]
    replacement: str


@dataclass(frozen=True, slots=True)
class Tokens:
    """``words`` in lower case, and where each stands in ``text`` (for wildcards)."""

    text: str
    words: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]

    def original(self, start: int, end: int) -> str:
        """Return the text of the tokens ``start`` … ``end`` - 1, case and punctuation kept."""
        return self.text[self.spans[start][0] : self.spans[end - 1][1]]


def tokenize(text: str, rewrites: Sequence[Rewrite] = ()) -> Tokens:
    """Cut ``text`` into tokens; case and punctuation do not count."""
    text = unicodedata.normalize("NFKC", text).translate(_APOSTROPHES)
    text = _THOUSANDS.sub("", text).strip()
    for rewrite in rewrites:
        text = rewrite.pattern.sub(rewrite.replacement, text)
    found = list(_TOKEN.finditer(text))[: MAX_TOKENS + 1]
    words = tuple(match.group().lower() for match in found)
    return Tokens(text, words, tuple(match.span() for match in found))


def is_han(word: str) -> bool:
    """Tell whether ``word`` is one Chinese character, which is written without spaces."""
    return len(word) == 1 and "\u3400" <= word <= "\u9fff"


def join(words: Sequence[str]) -> str:
    """Write tokens as text: spaces between words, none between Chinese characters."""
    text = ""
    for word in words:
        gap = " " if text and not (is_han(word) and is_han(text[-1])) else ""
        text += gap + word
    return text

"""Phrases that a user says alone: an utterance of nothing but them and of politeness around them.

"Okay, goodbye." is a goodbye; "say goodbye to Ann" is not. Case, punctuation and width of
characters do not count, nor do spaces in languages that are written without any.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final

from vixio.core.language_tags import primary
from vixio.core.traditional import simplified

UNSPACED: Final = frozenset({"zh", "yue", "ja", "ko", "th"})
"""Languages in which spaces mean nothing, or recognisers set them as they like."""

MAX_CHARS: Final = 120
"""Of such an utterance; a longer one says something else."""

_PUNCTUATION = re.compile(r"[^\w']+|_+")
_SPACES = re.compile(r"\s+")


def bare(text: str) -> str:
    """Return ``text`` without what speech does not carry: case, spaces, punctuation, width."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(character for character in folded if character.isalnum())


class WholePhrases:
    """Recognises utterances that are made of ``phrases`` and of ``fill`` alone.

    At least one of the phrases has to be there. ``language``: BCP 47. The work grows with the
    length of the utterance alone, whatever its words are.
    """

    def __init__(self, phrases: Iterable[str], fill: Iterable[str], language: str) -> None:
        self._spaced = primary(language) not in UNSPACED
        self._phrases = tuple({self._cleaned(phrase) for phrase in phrases} - {""})
        self._fill = tuple({self._cleaned(word) for word in fill} - {""})

    def __contains__(self, text: str) -> bool:
        """Whether ``text`` is such an utterance."""
        if not self._phrases or len(text) > MAX_CHARS:
            return False
        cleaned = self._cleaned(text)
        # Where pieces end: those of politeness alone, and those with a phrase among them.
        filled, said = {0}, set[int]()
        for at in range(len(cleaned)):
            if at in filled:
                filled.update(self._ends(cleaned, at, self._fill))
                said.update(self._ends(cleaned, at, self._phrases))
            if at in said:
                said.update(self._ends(cleaned, at, (*self._phrases, *self._fill)))
        return len(cleaned) in said

    def _ends(self, text: str, at: int, pieces: Iterable[str]) -> Iterator[int]:
        """Yield where the next piece may begin behind each of ``pieces`` that stands at ``at``."""
        for piece in pieces:
            if not text.startswith(piece, at):
                continue
            end = at + len(piece)
            if not self._spaced or end == len(text):
                yield end
            elif text[end] == " ":
                yield end + 1

    def _cleaned(self, text: str) -> str:
        folded = unicodedata.normalize("NFKC", text.replace("’", "'")).casefold()
        cleaned = _PUNCTUATION.sub(" ", folded).strip().translate(simplified())
        return cleaned if self._spaced else _SPACES.sub("", cleaned)

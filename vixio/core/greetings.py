"""What the assistant answers to a wake word."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self, cast

from vixio.core.whole_phrases import bare

OTHERS = "*"
"""Stands for the wake words that are not named."""


@dataclass(frozen=True, slots=True)
class WakeGreetings:
    """Several texts, or texts of their own for single wake words.

    ``by_word``: pairs of a wake word, or :data:`OTHERS`, and the texts, one of which is said. Case,
    spaces and punctuation of a wake word do not count.
    """

    by_word: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @classmethod
    def of(cls, texts: str | Sequence[str] | Mapping[str, str | Sequence[str]] | Self) -> Self:
        """Return the greetings of a text, of several, or of a mapping from wake words to either."""
        if isinstance(texts, cls):
            return texts
        given: Mapping[str, str | Sequence[str]]
        given = texts if isinstance(texts, Mapping) else {OTHERS: cast("Sequence[str]", texts)}
        return cls(tuple((word, _listed(said)) for word, said in given.items()))

    @property
    def wake_words(self) -> tuple[str, ...]:
        """Those that are named."""
        return tuple(word for word, _ in self.by_word if word != OTHERS)

    def names(self, text: str) -> bool:
        """Whether the whole of ``text`` is one of the wake words that are named."""
        spelled = bare(text)
        return any(bare(word) == spelled for word in self.wake_words)

    def greeting(self, wake_word: str) -> str:
        """Return what to say to ``wake_word``; empty: nothing."""
        spelled = bare(wake_word)
        named = (texts for word, texts in self.by_word if word != OTHERS and bare(word) == spelled)
        others = (texts for word, texts in self.by_word if word == OTHERS)
        texts = next(named, None) or next(others, ())
        return random.choice(texts) if texts else ""  # noqa: S311 - variety, no secret


def _listed(texts: str | Sequence[str]) -> tuple[str, ...]:
    return tuple(text for text in ((texts,) if isinstance(texts, str) else texts) if text.strip())

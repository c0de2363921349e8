"""Words that stand for others: how a voice is to say a name, what a recogniser makes of one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Self

MAX_PAIRS: Final = 100
MAX_CHARS: Final = 80
"""Of each side of a pair."""

# Han, kana, Hangul, Thai, Lao, Burmese, Khmer: words are not apart there, or have particles behind.
_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    "\U00020000-\U0003fffd"
)
_SPACED: Final = rf"[^\W{_UNSPACED}]"
_LETTER: Final = re.compile(_SPACED)


@dataclass(frozen=True, slots=True)
class Replacements:
    """Pairs of words, or phrases, and what stands in their place. Hashable; made by :meth:`of`.

    Whole words in any case; in Chinese and other scripts without spaces, any place. The longest of
    several that fit counts, and what was put in is not looked at again.
    """

    pairs: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, words: Mapping[str, str]) -> Self:
        """Return those of a mapping from words to what replaces them.

        Raises ValueError for too many, too long, empty or equal ones.
        """
        if len(words) > MAX_PAIRS:
            raise ValueError(f"expected at most {MAX_PAIRS} words, found {len(words)}")
        seen: dict[str, str] = {}
        for word, other in words.items():
            for text in (word, other):
                if not text.strip() or len(text) > MAX_CHARS:
                    raise ValueError(
                        f"expected words of 1 to {MAX_CHARS} characters on both sides, found "
                        f"{_short(word)!r}: {_short(other)!r}"
                    )
            if (same := seen.setdefault(_folded(word), word)) is not word:
                raise ValueError(f"{word!r} is the same as {same!r}: keep one of them")
        return cls(tuple(words.items()))

    def __call__(self, text: str) -> str:
        """Return ``text`` with the words replaced."""
        if not self.pairs or not text:
            return text
        pattern, others = _compiled(self.pairs)
        return pattern.sub(lambda found: others.get(_folded(found[0]), found[0]), text)


NO_REPLACEMENTS: Final = Replacements()


def _folded(text: str) -> str:
    return " ".join(text.replace("’", "'").casefold().split())


def _short(text: str) -> str:
    return text if len(text) <= MAX_CHARS else text[:20] + "…"


@lru_cache(256)
def _compiled(pairs: tuple[tuple[str, str], ...]) -> tuple[re.Pattern[str], Mapping[str, str]]:
    longest_first = sorted((word for word, _ in pairs), key=len, reverse=True)
    pattern = re.compile("|".join(map(_whole, longest_first)), re.IGNORECASE)
    return pattern, {_folded(word): other for word, other in pairs}


def _whole(word: str) -> str:
    """Return an expression for ``word`` that no letter touches, where its script has spaces."""
    parts = word.split()
    inside = r"\s+".join(re.escape(part).replace("’", "'").replace("'", "['’]") for part in parts)
    before = rf"(?<!{_SPACED})" if _LETTER.match(parts[0][0]) else ""
    after = rf"(?!{_SPACED})" if _LETTER.match(parts[-1][-1]) else ""
    return f"{before}{inside}{after}"

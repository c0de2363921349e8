"""Whether a user's words say something whole, as far as the words alone show it.

A person who stops behind "and", "the", "um", "call" or in the middle of a number has more to say.
What is judged is the end of the words, and the few utterances that are nothing but a beginning.
That words are whole is never certain, so nothing is said of most of them.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from vixio.core.chunk import Completeness
from vixio.core.language_tags import primary
from vixio.core.whole_phrases import UNSPACED
from vixio.core.wordlists import word_list


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of a language, those of one kind with spaces between them.

    ``last``: behind them more comes: connectors, articles, fillers. ``prepositions``: so do these,
    unless they end a question ("where are you from"). ``helping``: so do these verbs, unless they
    end a clause ("what time it is"). ``asking``, ``pronouns``: what such questions and clauses are
    made of. ``naming``: begins the name of a thing, which is no such question ("what is the time
    in"). ``numbers``: besides digits. ``closing``: behind them a number ends what is said ("to
    thirty"). ``whole``: utterances, or their ends without spaces, that look as if more came.
    ``begin``: utterances that only begin something, a regular expression a line; ``polite``: what
    may stand before them.
    """

    last: str = ""
    prepositions: str = ""
    helping: str = ""
    asking: str = ""
    pronouns: str = ""
    naming: str = ""
    numbers: str = ""
    closing: str = ""
    whole: str = ""
    begin: str = ""
    polite: str = ""


_GOES_ON: Final = re.compile(r"(?:\.{2,}|…|[,;:，、；：\-–—~])$")
"""What recognisers put behind words that go on."""

_WHOLE_NUMBER: Final = 7
"""Digits from which a number may be that of a telephone, as a whole."""


@lru_cache(256)
def completeness(text: str, language: str = "") -> Completeness | None:
    """Return INCOMPLETE if the words show that more is to come; None if they do not show it.

    ``language``: BCP 47; for one without a list, that of English counts. The script of ``text``
    counts for more. Quick, and remembered for the latest texts.
    """
    text = text.strip()
    folded = unicodedata.normalize("NFKC", text.replace("’", "'")).casefold()
    if not folded:
        return None
    if _GOES_ON.search(text) or _list_of(_language(folded, language)).goes_on(folded):
        return Completeness.INCOMPLETE
    return None


def _language(text: str, language: str) -> str:
    code = {"yue": "zh"}.get(primary(language), primary(language))
    if any("\u3040" <= each <= "\u30ff" for each in text):
        return "ja"
    if any("\uac00" <= each <= "\ud7af" for each in text):
        return "ko"
    if any("\u4e00" <= each <= "\u9fff" for each in text):
        return "ja" if code == "ja" else "zh"
    return "en" if code in UNSPACED or code not in word_list("beginnings") else code


class _List:
    """The words of one language, prepared."""

    def __init__(self, words: _Words, *, spaced: bool) -> None:
        self._spaced = spaced
        self._last = frozenset(words.last.split())
        self._prepositions = frozenset(words.prepositions.split())
        self._helping = frozenset(words.helping.split())
        self._asking = frozenset(words.asking.split())
        self._pronouns = frozenset(words.pronouns.split())
        self._naming = frozenset(words.naming.split())
        self._numbers = frozenset(words.numbers.split())
        self._closing = frozenset(words.closing.split())
        self._whole = tuple(words.whole.split("|")) if words.whole else ()
        begin = "|".join(line.strip() for line in words.begin.strip().splitlines())
        self._begin = re.compile(f"{words.polite}(?:{begin})")

    def goes_on(self, text: str) -> bool:
        """Whether more is to come. ``text``: folded, and not empty."""
        if not self._spaced:
            return self._unspaced_goes_on(re.sub(r"[\W_]+", "", text))
        words = re.findall(r"[\w'-]+", text)
        if not words or " ".join(words) in self._whole:
            return False
        if self._begin.fullmatch(" ".join(words)):
            return True
        if self._is_number(words[-1]):
            return self._number_goes_on(words)
        *before, last = words
        if last in self._helping:
            ends = bool(self._asking.intersection(before)) or (
                bool(before) and before[-1] in self._pronouns
            )
            return bool(before) and not ends
        if last in self._prepositions:
            return not self._asks(before)
        return last in self._last

    def _asks(self, words: list[str]) -> bool:
        """Whether the words are a question that a preposition may end."""
        places = [at for at, word in enumerate(words) if word in self._asking]
        return bool(places) and not self._naming.intersection(words[places[-1] + 1 :])

    def _is_number(self, word: str) -> bool:
        return all(part.isdigit() or part in self._numbers for part in word.split("-"))

    def _number_goes_on(self, words: list[str]) -> bool:
        """Whether the number at the end may go on: it does not stand where a value ends."""
        before = len(words)
        while before and (self._is_number(words[before - 1]) or words[before - 1] in self._naming):
            before -= 1
        if sum(map(str.isdigit, "".join(words[before:]))) >= _WHOLE_NUMBER:
            return False
        return not before or words[before - 1].split("-")[-1] not in self._closing

    def _unspaced_goes_on(self, text: str) -> bool:
        if not text or text.endswith(self._whole):
            return False
        if self._begin.fullmatch(text):
            return True
        before = text.rstrip("0123456789" + "".join(self._numbers))
        if before != text:
            return not before.endswith(tuple(self._closing))
        return text.endswith(tuple(self._last))


@lru_cache(16)
def _list_of(code: str) -> _List:
    return _List(_Words(**word_list("beginnings")[code]), spaced=code not in UNSPACED)

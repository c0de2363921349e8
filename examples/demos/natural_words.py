"""Compares sentences by their sounds: how much of what was said was heard.

A recogniser may write "20%" for "twenty percent", "alright" for "all right", "for malon" for "from
now on", and in Chinese another character of the same sound, or the traditional one. So numbers are
spelled out, words are compared by their letters, whatever the spaces between them, and Chinese
characters by their syllables, without the tones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Literal

from vixio.language.phrasebook.numbers import Numbers
from vixio.language.phrasebook.stored import load_language
from vixio_bench.speech_sets import distance, units

Language = Literal["en", "zh"]


def sounds(text: str, language: Language) -> list[str]:
    """Return the words of a text in lower case, or the syllables of a Chinese one."""
    return [sound for _, sound in _pairs(text, language)]


def share_heard(said: str, heard: str, language: Language) -> float:
    """Return how much of what was said was heard, 0 to 1; words too many count against it.

    By letters, two sentences that have nothing to do with each other share up to 0.4.
    """
    meant, got = sounds(said, language), sounds(heard, language)
    if language == "en":
        meant, got = list("".join(meant)), list("".join(got))
    return max(0.0, 1 - distance(meant, got) / max(1, len(meant)))


def contains(text: str, words: str, language: Language) -> bool:
    """Whether ``words`` can be heard in ``text``; no words can in any."""
    return _place(sounds(text, language), sounds(words, language)) is not None


def behind(text: str, words: str, language: Language) -> str:
    """Return what ``text`` has behind ``words``, without punctuation; empty if it lacks them."""
    pairs = list(_pairs(text, language))
    key = sounds(words, language)
    place = _place([sound for _, sound in pairs], key)
    rest = [] if place is None else [unit for unit, _ in pairs[place + len(key) :]]
    return ("" if language == "zh" else " ").join(rest)


@cache
def _english() -> Numbers:
    return load_language("en").numbers


def _place(words: Sequence[str], key: Sequence[str]) -> int | None:
    """Return where the words of ``key`` stand one after another, None if they do not."""
    size = len(key)
    return next((at for at in range(len(words) + 1) if list(words[at : at + size]) == key), None)


def _pairs(text: str, language: Language) -> Iterator[tuple[str, str]]:
    """Yield each word, or Chinese character, and its sound."""
    if language == "zh":
        from pypinyin import lazy_pinyin

        from vixio.language.normalisation.chinese import spelled

        for unit in units(spelled(text)):
            yield unit, lazy_pinyin(unit)[0]
        return
    for unit in units(text):
        if unit.isdecimal() and len(unit) <= 5:
            for word in _english().say(int(unit))[0]:
                yield word, word
        else:
            yield unit, unit

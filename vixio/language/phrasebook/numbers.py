"""Whole numbers in words, from the tables of a phrase book.

:meth:`Numbers.read` understands everything that :meth:`Numbers.say` returns, and digits. Spaces
between the words do not count: German writes none, Chinese has none, French writes hyphens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from vixio.language.phrasebook.text import fold, tokenize

MAX_NUMBER = 99_999
"""The largest number in words; larger ones can be typed in digits."""

_MAX_WORDS = 16
"""Of a number; Chinese has the most."""

Way = tuple[str, ...]


def spoken_range(low: int, high: int) -> list[int]:
    """Return the numbers between the bounds that a grammar should contain.

    All up to 300 (colours go to 255), then rounder ones, so that a range up to many thousands is
    still a grammar of a few hundred numbers; and the bounds themselves.
    """
    numbers = [
        *range(301),
        *range(310, 1_001, 10),
        *range(1_100, 10_001, 100),
        *range(11_000, MAX_NUMBER, 1_000),
    ]
    both = {number for number in numbers if low <= number <= high}
    both |= {-number for number in numbers if low <= -number <= high}
    both |= {bound for bound in (low, high) if abs(bound) <= MAX_NUMBER and low <= high}
    return sorted(both)


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """Hundreds, thousands, or ten thousands: the ways to say 1, 2, … of them.

    ``link`` may stand before a rest below a hundred ("two hundred and five"), ``gap`` must stand
    where a digit is zero (一百零五).
    """

    value: int
    counted: Mapping[int, tuple[Way, ...]]
    link: str
    gap: str

    def links(self, rest: int) -> tuple[Way, ...]:
        """Return the ways to join the scale and ``rest``, which is more than 0."""
        if self.gap:
            return ((self.gap,),) if rest < self.value // 10 else ((),)
        return ((), (self.link,)) if self.link and rest < 100 else ((),)


class Numbers:
    """The numbers of one language.

    ``data``: ``below_100``, the words of 0 to 99; ``scales``, the largest first, each with its
    ``value``, ``name``, the ``most`` of it and, where they differ, the words of ``one`` or of
    ``each`` multiple; ``minus``. Alternatives are separated by ``|``.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        """Raises KeyError, ValueError."""
        self._small = tuple(map(_ways, data["below_100"]))
        if len(self._small) != 100:
            raise ValueError(f"below_100 has {len(self._small)} numbers")
        self._minus = _ways(data["minus"])
        self._scales = tuple(map(self._scale, data["scales"]))
        self._read_small = _by_text(dict(enumerate(self._small)))
        self._read_scales = tuple((scale, _by_text(scale.counted)) for scale in self._scales)
        ways = [*self._small, *(way for scale in self._scales for way in scale.counted.values())]
        words = {fold(word) for each in ways for way in each for word in way}
        words |= {fold(word) for scale in self._scales for word in (scale.link, scale.gap) if word}
        longest_first = sorted(words, key=len, reverse=True)
        # Possessive: what consists of number words does so in many ways.
        self._words = re.compile(f"(?:{'|'.join(map(re.escape, longest_first))})++")
        self._below_zero = [tuple(map(fold, way)) for way in self._minus]

    def say(self, number: int) -> tuple[Way, ...]:
        """Return the ways to say ``number``, each as words."""
        if number < 0:
            return tuple(minus + way for minus in self._minus for way in self.say(-number))
        for scale in self._scales:
            if number >= scale.value:
                count, rest = divmod(number, scale.value)
                heads = scale.counted[count]
                if not rest:
                    return heads
                parts = product(heads, scale.links(rest), self.say(rest))
                return tuple(head + link + tail for head, link, tail in parts)
        return self._small[number]

    def read(self, words: Sequence[str], start: int) -> Iterator[tuple[int, int]]:
        """Yield ``(end, number)`` for each number that starts at ``start``, the longest first.

        ``words`` are folded.
        """
        if start >= len(words):
            return
        first = words[start]
        if first.lstrip("-").isdigit() and first.isascii():
            yield start + 1, int(first)
            return
        for minus in self._below_zero:
            if tuple(words[start : start + len(minus)]) == minus:
                positive = self.read(words, start + len(minus))
                yield from ((end, -number) for end, number in positive if number > 0)
                return
        ends: list[tuple[int, int]] = []
        text = ""
        for end in range(start, min(len(words), start + _MAX_WORDS)):
            if not self._words.fullmatch(words[end]):
                break
            text += words[end]
            if (number := self._value(text, MAX_NUMBER + 1)) is not None:
                ends.append((end + 1, number))
        yield from reversed(ends)

    def _value(self, text: str, below: int) -> int | None:
        small = self._read_small.get(text)
        if small is not None:
            return small
        for scale, counted in self._read_scales:
            if scale.value >= below:
                continue
            for cut in range(len(text), 0, -1):
                count = counted.get(text[:cut])
                rest = None if count is None else self._rest(text[cut:], scale)
                if count is not None and rest is not None:
                    return count * scale.value + rest
        return None

    def _rest(self, text: str, scale: Scale) -> int | None:
        if not text:
            return 0
        for link in dict.fromkeys(("", fold(scale.link), fold(scale.gap))):
            if text.startswith(link):
                rest = self._value(text[len(link) :], scale.value)
                if rest and any("".join(map(fold, way)) == link for way in scale.links(rest)):
                    return rest
        return None

    def _scale(self, data: Mapping[str, Any]) -> Scale:
        name = tokenize(data.get("name", "")).words
        counted = {
            count: tuple(way + name for way in self._small[count])
            for count in range(1, data["most"] + 1)
        }
        if "one" in data:
            counted[1] = _ways(data["one"])
        counted |= {count: _ways(said) for count, said in enumerate(data.get("each", ()), 1)}
        return Scale(data["value"], counted, data.get("link", ""), data.get("gap", ""))


def _ways(text: str) -> tuple[Way, ...]:
    return tuple(tokenize(way).words for way in text.split("|"))


def _by_text(ways: Mapping[int, tuple[Way, ...]]) -> dict[str, int]:
    return {"".join(map(fold, way)): number for number, each in ways.items() for way in each}

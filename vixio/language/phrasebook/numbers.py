"""Whole numbers in words, English and Chinese.

:func:`read` understands everything that :func:`say` returns, and more: digits, "a hundred", "oh",
两.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

_EN_UNITS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen"),
)
_EN_TENS = (
    *("zero", "ten", "twenty", "thirty", "forty"),
    *("fifty", "sixty", "seventy", "eighty", "ninety"),
)
_EN_SMALL = {word: value for value, word in enumerate(_EN_UNITS)}
_EN_ROUND = {word: value * 10 for value, word in enumerate(_EN_TENS) if value >= 2}

_ZH_DIGITS = "零一二三四五六七八九"
_ZH_READ = {character: value for value, character in enumerate(_ZH_DIGITS)} | {"两": 2, "〇": 0}
_ZH_UNITS = {"十": 10, "百": 100, "千": 1000}

MAX_NUMBER = 99_999
"""The largest number in words; larger ones can be typed in digits."""


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


@lru_cache(maxsize=4096)
def say(number: int, language: str) -> tuple[tuple[str, ...], ...]:
    """Return the ways to say ``number``, each as words."""
    if number < 0:
        minus = ("minus",) if language == "en" else ("负",)
        return tuple(minus + way for way in say(-number, language))
    if language == "zh":
        return _say_zh(number)
    return _say_en(number)


def _say_en(number: int, *, inside: bool = False) -> tuple[tuple[str, ...], ...]:
    if number < 20:
        return ((_EN_UNITS[number],),)
    if number < 100:
        ten, unit = divmod(number, 10)
        return ((_EN_TENS[ten], *((_EN_UNITS[unit],) if unit else ())),)
    size, name = (1000, "thousand") if number >= 1000 else (100, "hundred")
    count, rest = divmod(number, size)
    heads = [(*way, name) for way in _say_en(count, inside=True)]
    if count == 1 and not inside:
        heads.append(("a", name))
    if not rest:
        return tuple(heads)
    tails = _say_en(rest, inside=True)
    joins: list[tuple[str, ...]] = [()] if rest >= 100 else [(), ("and",)]
    return tuple((*head, *link, *tail) for head in heads for link in joins for tail in tails)


def _say_zh(number: int) -> tuple[tuple[str, ...], ...]:
    if number < 10:
        return ((_ZH_DIGITS[number],),)
    words: list[str] = []
    if number >= 10_000:
        words += [*_say_zh(number // 10_000)[0], "万"]
    skipped = False
    for name, size in (("千", 1000), ("百", 100), ("十", 10), ("", 1)):
        digit = number // size % 10
        if digit:
            if skipped and words:
                words.append("零")
            words += [_ZH_DIGITS[digit], *name]
        skipped = not digit
    if words[:2] == ["一", "十"]:
        words = words[1:]
    ways = [tuple(words)]
    if words[0] == "二" and len(words) > 1 and words[1] in "百千万":
        ways.append(("两", *words[1:]))
    return tuple(ways)


def read(words: Sequence[str], start: int, language: str) -> Iterator[tuple[int, int]]:
    """Yield ``(end, number)`` for each number that starts at ``start``, the longest first."""
    if start >= len(words):
        return
    first = words[start]
    if first.lstrip("-").isdigit() and first.isascii():
        yield start + 1, int(first)
        return
    if first in {"minus", "negative", "负"}:
        for end, number in read(words, start + 1, language):
            if number > 0:
                yield end, -number
        return
    ends = list(_read_zh(words, start) if language == "zh" else _read_en(words, start))
    yield from reversed(ends)


def _read_en(words: Sequence[str], start: int) -> Iterator[tuple[int, int]]:
    """Yield numbers of increasing length: thirty, thirty five."""
    total, part, lowest = 0, 0, 1_000_000
    seen = linked = False
    for index in range(start, len(words)):
        word = words[index]
        if word in _EN_SMALL and (not seen or 0 < _EN_SMALL[word] < lowest):
            part, lowest = part + _EN_SMALL[word], 0
        elif word in _EN_ROUND and lowest > 10:
            part, lowest = part + _EN_ROUND[word], 10
        elif word == "a" and not seen:
            if tuple(words[index + 1 : index + 2]) not in (("hundred",), ("thousand",)):
                return
            part, seen = 1, True
            continue
        elif word == "hundred" and 0 < part < 10:
            part, lowest = part * 100, 100
        elif word == "thousand" and part and not total:
            total, part, lowest = part * 1000, 0, 1000
        elif word == "and" and seen and not linked and lowest >= 100:
            linked = True
            continue
        else:
            return
        seen, linked = True, False
        yield index + 1, total + part


def _read_zh(words: Sequence[str], start: int) -> Iterator[tuple[int, int]]:
    """Yield numbers of increasing length: 三, 三十, 三十五."""
    total, section, digit, lowest = 0, 0, -1, 1_000_000
    for index in range(start, len(words)):
        word = words[index]
        if word in _ZH_READ and digit <= 0 and lowest > 1:
            digit = _ZH_READ[word]
            if digit == 0 and index > start:
                continue
        elif word in _ZH_UNITS and _ZH_UNITS[word] < lowest:
            if digit < 0 and (word != "十" or index > start):
                return
            section += max(digit, 1) * _ZH_UNITS[word]
            lowest, digit = _ZH_UNITS[word], -1
        elif word == "万" and not total and section + max(digit, 0) > 0:
            total, section, digit, lowest = (section + max(digit, 0)) * 10_000, 0, -1, 10_000
        else:
            return
        yield index + 1, total + section + max(digit, 0)

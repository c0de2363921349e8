"""Writes what eSpeak NG reads badly in an English text as it is read.

It says "dollar five point five zero" for $5.50, "dash" in 10-20, and "eight zero five" for 8:05.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June", "July", "August"),
    *("September", "October", "November", "December"),
)
_MONEY: Final = {
    "$": ("dollar", "cent"),
    "£": ("pound", "penny"),
    "€": ("euro", "cent"),
    "¥": ("yen", ""),
}


def _several(number: str, word: str) -> str:
    if number == "1" or word == "yen":
        return f"{number} {word}"
    return f"{number} pence" if word == "penny" else f"{number} {word}s"


def _money(match: re.Match[str]) -> str:
    sign, whole, fraction, scale = match[1], match[2], match[3] or "", match[4] or ""
    word, part = _MONEY[sign]
    if fraction and (scale or len(fraction) != 2 or not part):
        return _several(f"{whole}.{fraction}{scale}", word)
    said = _several(f"{whole}{scale}", word)
    return f"{said} and {_several(str(int(fraction)), part)}" if fraction.strip("0") else said


def _time(match: re.Match[str]) -> str:
    hour, minute = str(int(match[1])), match[2]
    if minute == "00":
        half = match.string[match.end() :].lstrip()[:1].lower() in {"a", "p"}
        return hour if half else f"{hour} o'clock"
    return f"{hour} oh {minute[1]}" if minute[0] == "0" else f"{hour} {minute}"


def _date(match: re.Match[str]) -> str:
    month = int(match[2])
    if not 1 <= month <= 12:
        return match[0]
    return f"{_MONTHS[month - 1]} {int(match[3])}, {match[1]}"


def _unit(match: re.Match[str]) -> str:
    singular, plural = _UNITS[match[2].replace(" ", "")]
    return f"{match[1]} {singular if match[1] == '1' else plural}"


_UNITS: Final = {
    "km/h": ("kilometer per hour", "kilometers per hour"),
    "km": ("kilometer", "kilometers"),
    "kg": ("kilogram", "kilograms"),
    "cm": ("centimeter", "centimeters"),
    "mm": ("millimeter", "millimeters"),
    "°C": ("degree Celsius", "degrees Celsius"),
    "°F": ("degree Fahrenheit", "degrees Fahrenheit"),
}

_RULES: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...]] = (
    (re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b"), _date),
    (re.compile(r"(?<=\d),(?=\d{3}\b)"), lambda _: ""),
    (
        re.compile(r"([$£€¥])\s?(\d+)(?:\.(\d+))?( (?:thousand|million|billion|trillion))?\b"),
        _money,
    ),
    (re.compile(r"(?<![\d:.])([01]?\d|2[0-4]):([0-5]\d)(?![\d:])"), _time),
    (re.compile(r"(?<=\d)\s?[–-]\s?(?=\d)"), lambda _: " to "),
    (re.compile(r"(?<![\d.])(\d+(?:\.\d+)?)\s?(km/h|[kcm]m|kg|°\s?[CF])(?!\w)"), _unit),
)


def spelled(text: str) -> str:
    """Return ``text`` with money, dates, times, ranges and units in words."""
    for pattern, words in _RULES:
        text = pattern.sub(words, text)
    return text

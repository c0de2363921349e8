"""Writes what eSpeak NG reads badly in an English text as it is read.

It says "dollar five point five zero" for $5.50, "dash" in 10-20, "nineteen hundred eighty four" for
1984 and "eight zero five" for 8:05. Whole numbers stay in digits, which every voice reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_NAMES: Final = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June", "July", "August"),
    *("September", "October", "November", "December"),
)
_DAYS: Final = (
    *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"),
    *("tenth", "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth"),
    *("seventeenth", "eighteenth", "nineteenth", "twentieth", "twenty-first", "twenty-second"),
    *("twenty-third", "twenty-fourth", "twenty-fifth", "twenty-sixth", "twenty-seventh"),
    *("twenty-eighth", "twenty-ninth", "thirtieth", "thirty-first"),
)
_DECADES: Final = (
    *("hundreds", "tens", "twenties", "thirties", "forties", "fifties", "sixties", "seventies"),
    *("eighties", "nineties"),
)
_PARTS: Final = ("", "", "half", "third", "quarter", *_DAYS[4:9])
_MONEY: Final = {
    "$": ("dollar", "cent"),
    "£": ("pound", "penny"),
    "€": ("euro", "cent"),
    "¥": ("yen", ""),
    "￥": ("yuan", ""),
}
_PLURALS: Final = {"yen": "yen", "yuan": "yuan", "penny": "pence", "foot": "feet"}
_SCALES: Final = {"k": " thousand", "K": " thousand", "m": " million", "M": " million"}
_UNITS: Final = {
    "km": "kilometer",
    "cm": "centimeter",
    "mm": "millimeter",
    "m": "meter",
    "km²": "square kilometer",
    "m²": "square meter",
    "m³": "cubic meter",
    "mph": "mile per hour",
    "ft": "foot",
    "lb": "pound",
    "lbs": "pound",
    "oz": "ounce",
    "kg": "kilogram",
    "g": "gram",
    "mg": "milligram",
    "μg": "microgram",
    "L": "liter",
    "l": "liter",
    "ml": "milliliter",
    "mL": "milliliter",
    "kW": "kilowatt",
    "kWh": "kilowatt hour",
    "W": "watt",
    "V": "volt",
    "mA": "milliamp",
    "mAh": "milliamp hour",
    "KB": "kilobyte",
    "kB": "kilobyte",
    "MB": "megabyte",
    "GB": "gigabyte",
    "TB": "terabyte",
    "GHz": "gigahertz",
    "MHz": "megahertz",
    "kHz": "kilohertz",
    "Hz": "hertz",
    "dB": "decibel",
    "Mbps": "megabit per second",
    "ms": "millisecond",
    "min": "minute",
    "h": "hour",
    "s": "second",
    "°C": "degree Celsius",
    "°F": "degree Fahrenheit",
}
_CALLED: Final = re.compile(r"\b(?:call|dial|phone|number|tel|fax|text|ring)\b", re.IGNORECASE)
_TYPED: Final = re.compile(
    r"\b(?:(?:code|PIN|password)(?: is|:)?|dial|call) $|\b(?:code|PIN|password) is: $",
    re.IGNORECASE,
)
_BEFORE: Final = 24
"""Characters before a number in which such a word is looked for."""
_WHOLE: Final = r"\d{1,3}(?:,\d{3}){1,5}|\d{1,15}"
_NUMBER: Final = rf"(?<![\d.,])((?:{_WHOLE})(?:\.\d{{1,15}})?)"


def digits(text: str) -> str:
    """Return each digit by its name; what is no digit is a gap."""
    groups = ([_NAMES[int(each)] for each in group] for group in re.findall("[0-9]+", text))
    return ", ".join(" ".join(group) for group in groups)


def _several(number: str, word: str) -> str:
    if number == "1":
        return f"1 {word}"
    if word in _PLURALS or word.endswith("hertz"):
        return f"{number} {_PLURALS.get(word, word)}"
    head, space, tail = word.partition(" ")
    many = f"{head}s{space}{tail}" if head in {"degree", "mile", "megabit"} else f"{word}s"
    return f"{number} {many}"


def _money(match: re.Match[str]) -> str:
    sign, whole, fraction, scale = match[1], match[2], match[3] or match[4] or "", match[5] or ""
    word, part = _MONEY[sign]
    scale = _SCALES.get(scale, scale)
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


def _year(text: str) -> str:
    """Return a year in two halves, as it is read; those around 2000 as a number."""
    century, rest = text[:2], text[2:]
    if text[1:3] == "00" or not 11 <= int(century) <= 20:
        return text
    return f"{century} {'hundred' if rest == '00' else rest.replace('0', 'oh ', rest[0] == '0')}"


def _years(match: re.Match[str]) -> str:
    return f"{_year(match[1])} to {_year(match[2])}"


def _day(month: int, day: str, year: str, otherwise: str) -> str:
    if not (1 <= month <= 12 and 1 <= int(day) <= 31):
        return otherwise
    return f"{_MONTHS[month - 1]} {_DAYS[int(day) - 1]}, {_year(year)}"


def _iso_date(match: re.Match[str]) -> str:
    return _day(int(match[2]), match[3], match[1], match[0])


def _slash_date(match: re.Match[str]) -> str:
    """Read 3/14/2026 as in America, unless its first number can be no month."""
    month, day = (match[1], match[2]) if int(match[1]) <= 12 else (match[2], match[1])
    return _day(int(month), day, match[3], match[0])


def _dotted_date(match: re.Match[str]) -> str:
    return _day(int(match[2]), match[1], match[3], _version(match))


def _named_date(match: re.Match[str]) -> str:
    day = _DAYS[int(match[2]) - 1] if 1 <= int(match[2]) <= 31 else match[2]
    return f"{match[1]} {day}" + (f", {_year(match[3])}" if match[3] else "")


def _decade(match: re.Match[str]) -> str:
    if match[1] == "20" and match[2] == "0":
        return "two thousands"
    return f"{match[1] or ''} {_DECADES[int(match[2])]}".lstrip()


def _fraction(match: re.Match[str]) -> str:
    over, under = int(match[1]), int(match[2])
    if not 1 < under < len(_PARTS) or over >= under:
        return match[0]
    return f"one {_PARTS[under]}" if over == 1 else f"{over} {_PARTS[under]}s"


def _unit(match: re.Match[str]) -> str:
    number, unit, per = match[1], match[2].replace(" ", "").replace("µ", "μ"), match[3]
    said = _several(number, _UNITS[unit])
    return f"{said} per {_UNITS.get(per, per)}" if per else said


def _address(match: re.Match[str]) -> str:
    return " dot ".join(map(digits, match[0].split(".")))


def _version(match: re.Match[str]) -> str:
    return match[0].replace(".", " point ")


def _email(match: re.Match[str]) -> str:
    read = {".": " dot ", "@": " at ", "-": " dash ", "_": " underscore ", "+": " plus "}
    return "".join(read.get(each, each) for each in match[0])


def _phone(match: re.Match[str]) -> str:
    plus = "plus " if match[0].startswith("+") else ""
    return plus + digits(match[0])


def _short_phone(match: re.Match[str]) -> str:
    """Tell 555-2671 from a range, by its digits or the words before it."""
    before = match.string[max(0, match.start() - _BEFORE) : match.start()]
    known = match[1] == "555" or match[2].startswith("0") or _CALLED.search(before)
    return digits(match[0]) if known else match[0]


def _typed(match: re.Match[str]) -> str:
    before = match.string[max(0, match.start() - _BEFORE) : match.start()]
    return digits(match[0]) if _TYPED.search(before) else match[0]


def _code(match: re.Match[str]) -> str:
    number = digits(match[2]) if len(match[2]) > 2 else match[2]
    return f"{' '.join(match[1])} {number}"


_MONTH: Final = "|".join(_MONTHS)
_SCALE: Final = " (?:thousand|million|billion|trillion)|k|K|m|M"
_UNIT: Final = "|".join(sorted((*_UNITS, "° C", "° F", "µg"), key=len, reverse=True))
_PER: Final = "day|week|month|year|hour|minute|second|h|s|min|kg|L|m³"

_LEADS: Final = "|".join(
    rf"(?<=\b{lead} )"
    for lead in ("In", "in", "By", "by", "Since", "since", "Until", "until", "from", "and", "to")
)
_FOLLOWS: Final = (
    r"[^\w\s,-]*(?:$|[.,;:!?)](?!\d)"
    r"| (?:a|and|as|at|but|by|for|from|he|in|it|of|on|or|she|the|there|they|to|was|we|were|with)\b)"
)
"""Words around a year, which is no number of things."""

# In this order: what looks like several kinds of number is read by the first that fits.
_PATTERNS: Final[tuple[tuple[str, Callable[[re.Match[str]], str]], ...]] = (
    (r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}", _email),
    (r"(?<![\w.])\+\d(?:[ ()-]{0,2}\d){6,14}(?![\w-])", _phone),
    (r"(?<![\w.-])(?:1[ -])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![\w-])", _phone),
    (r"(?<![\w.-])(\d{3})-(\d{4})(?![\w-])", _short_phone),
    (r"(?<![\w.,-])\d{3,6}(?![\w,-]|\.\d)", _typed),
    (r"(?<![\w.,-])\d{7,}(?<!000)(?![\w,-]|\.\d)", _phone),
    (r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\.?\w)", _address),
    (r"(?<![\d.])(\d{1,2})\.(\d{1,2})\.(\d{4})(?!\d)", _dotted_date),
    (r"\bv(?=\d{1,4}\.\d)", lambda _: "version "),
    (r"(?<![\w.])\d{1,4}(?:\.\d{1,4}){2,5}(?!\.?\w)|(?<=ersion )\d{1,4}\.\d{1,4}", _version),
    (r"#\s?(?=\d)", lambda _: "number "),
    (r"(?<![\w.])(?<!\d )[-−–](?=\d)", lambda _: "minus "),
    (r"\b(\d{4})-(\d{2})-(\d{2})\b", _iso_date),
    (r"(?<![\d/])(\d{1,2})/(\d{1,2})/(\d{4})(?![\d/])", _slash_date),
    (rf"\b({_MONTH}) (\d{{1,2}})(?:st|nd|rd|th)?(?!\w|[:.]\d)(?:, (\d{{4}})\b)?", _named_date),
    (r"(?<![\w.'’])['’]?(1[1-9]|20|)(\d)0['’]?s\b", _decade),
    (r"(\d{1,2})['’′]\s?(\d{1,2})[\"”″]", lambda m: f"{m[1]} foot {m[2]}"),
    (rf"([$£€¥￥])\s?({_WHOLE})(?:\.(\d{{1,15}})|,(\d{{2}}))?(?!\d)({_SCALE})?\b", _money),
    (r"(?<![\d:.])([01]?\d|2[0-4]):([0-5]\d)(?![\d:])", _time),
    (r"(?<![\d:])(\d{1,4}):(\d{1,4})(?![\d:])", lambda m: f"{m[1]} to {m[2]}"),
    (r"(?<![\w-])(1[1-9]\d\d|20\d\d)[–-](1[1-9]\d\d|20\d\d)(?![\w-])", _years),
    (r"(?:(?<=\d)|(?<=o'clock))\s?[–-]\s?(?=\d)", lambda _: " to "),
    (r"\b24/7\b", lambda _: "24 7"),
    (r"(?<![\d/.])(\d{1,2})/([2-9])(?![\d/])", _fraction),
    (rf"{_NUMBER}\s?({_UNIT})(?:/({_PER}))?(?![\w/])", _unit),
    (rf"(?:{_LEADS})([12]\d{{3}})(?={_FOLLOWS})", lambda m: _year(m[1])),
    (r"(?<=[A-Za-z\d])-(?=\d|[A-Z]\d)", lambda _: " "),
    (r"(?<![\w-])([A-Z]{1,3})(\d{3,5})(?![\w-])", _code),
    (r"(?<![\w-])([A-Z]{1,4})(\d{1,2})(?![a-z\d])", _code),
)
_RULES: Final = tuple((re.compile(pattern, re.ASCII), words) for pattern, words in _PATTERNS)


def spelled(text: str) -> str:
    """Return ``text`` with money, dates, times, ranges, units and codes in words."""
    for pattern, words in _RULES:
        text = pattern.sub(words, text)
    return text

"""The instructions of a language model: a text with a few names in it, filled in for each turn.

This is not a template language: ``{name}`` stands for a value, and nothing is evaluated. Other
braces stay as they are, so the text may contain JSON.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from zoneinfo import ZoneInfo

from vixio.core.emotions import EMOTIONS
from vixio.core.wall_clock import date_time

NAMES: Mapping[str, str] = {
    "device": "the device's name",
    "place": "its location",
    "user": "the user's name",
    "language": "the language that the user speaks, in English",
    "mood": "how the user sounds, if the recogniser reports it and it is not neutral",
    "emotions": "the expressions that a device can show, each with its emoji",
    "weekday": "in English",
    "date": "as 2026-08-31",
    "time": "as 17:05",
    "time_zone": "such as Europe/Berlin",
}
"""The names in braces, and what each becomes."""

DEFAULT_INSTRUCTIONS = """\
You are a voice assistant in a small device with a loudspeaker. What you write is spoken aloud.
Answer in one to three short sentences, as people talk.
No Markdown, lists, headings, links, code or emoji, except that an answer may begin with one emoji
that fits its mood. The device shows it as a face; it has these: {emotions}.
Write numbers, units and abbreviations so that they can be read aloud.
When a tool can do or find out what is asked, call it instead of guessing, and say briefly what
happened. If it fails, say so plainly. If you did not understand, ask one short question back.
The user's words come from speech recognition and may contain small errors: take the likely meaning.
The user sounds {mood}: let your tone fit, without a word about it.
Answer in {language}, unless the user speaks or asks for another language.
The device you speak from is called {device}.
It stands in this place: {place}.
The user's name is {user}.
It is {weekday}, {date}, {time} ({time_zone}).
"""
"""Of an assistant whose settings have none."""

_REFERENCE = re.compile(r"\{\{([A-Za-z_]+)\}\}|\{([A-Za-z_]+)\}")

LANGUAGES = {
    "ar": "Arabic",
    "bg": "Bulgarian",
    "ca": "Catalan",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "fa": "Persian",
    "fi": "Finnish",
    "fr": "French",
    "he": "Hebrew",
    "hi": "Hindi",
    "hr": "Croatian",
    "hu": "Hungarian",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "ms": "Malay",
    "nb": "Norwegian",
    "nl": "Dutch",
    "no": "Norwegian",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sk": "Slovak",
    "sl": "Slovenian",
    "sr": "Serbian",
    "sv": "Swedish",
    "th": "Thai",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "vi": "Vietnamese",
    "yue": "Cantonese",
    "zh": "Chinese",
    "zh-hk": "Cantonese",
    "zh-tw": "Traditional Chinese, as in Taiwan",
}
"""By BCP 47, in lower case; the model gets any other tag as it is."""

_NO_MOOD = ("neutral", "unknown", "unk", "other")
_LONGEST_MOOD = 20

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the instructions can say about a device; empty where nothing is known."""

    device: str = ""
    place: str = ""
    user: str = ""


class Instructions:
    """A text and the values for it. ``{{name}}`` stands for ``{name}`` itself.

    A line whose names are all empty is left out: "The user is {user}." without a user.
    ``zone``: None for that of the machine.
    """

    def __init__(
        self,
        text: str,
        surroundings: Surroundings | None = None,
        *,
        zone: ZoneInfo | None = None,
        now: Callable[[], datetime] | None = None,
    ) -> None:
        """Raises ValueError when ``text`` has an unknown name."""
        check_instructions(text)
        self._lines = text.splitlines(keepends=True)
        self._surroundings = surroundings or Surroundings()
        self._zone = zone
        self._now = now or (lambda: date_time(zone) if zone else date_time(None).astimezone())
        self._emotions = ", ".join(f"{emoji} {name}" for name, emoji in EMOTIONS.items())

    def for_turn(self, language: str, emotion: str = "") -> str:
        """Return the instructions for a turn that begins now, in a language (BCP 47).

        ``emotion``: how the user sounds, in the recogniser's words.
        """
        known = self._surroundings
        at = self._now()
        values = {
            "device": known.device,
            "place": known.place,
            "user": known.user,
            "language": language_name(language),
            "mood": _mood(emotion),
            "emotions": self._emotions,
            "weekday": _WEEKDAYS[at.weekday()],
            "date": at.strftime("%Y-%m-%d"),
            "time": at.strftime("%H:%M"),
            "time_zone": self._zone.key if self._zone else f"UTC{at.strftime('%z')}",
        }
        return "".join(_filled(line, values) for line in self._lines)


def check_instructions(text: str) -> None:
    """Raise ValueError, one line, when ``text`` has an unknown name."""
    for match in _REFERENCE.finditer(text):
        name = match.group(2)
        if name is None or name in NAMES:
            continue
        close = get_close_matches(name.lower(), NAMES, n=1)
        hint = f"did you mean {{{close[0]}}}?" if close else f"known are {', '.join(NAMES)}."
        raise ValueError(f"there is no {{{name}}}: {hint} For the text itself write {{{{{name}}}}}")


def language_name(tag: str) -> str:
    """Return the English name of a language, or ``tag`` itself if none is known."""
    lower = tag.replace("_", "-").lower()
    return LANGUAGES.get(lower) or LANGUAGES.get(lower.partition("-")[0]) or tag


def _mood(emotion: str) -> str:
    """Return one word, whatever a recogniser reports; none if it reports nothing useful."""
    word = emotion.strip().lower()
    fits = word.isascii() and word.isalpha() and len(word) <= _LONGEST_MOOD
    return word if fits and word not in _NO_MOOD else ""


def _filled(line: str, values: Mapping[str, str]) -> str:
    found: list[str] = []

    def value(match: re.Match[str]) -> str:
        literal, name = match.groups()
        if literal is not None:
            return f"{{{literal}}}"
        found.append(values[name])
        return values[name]

    filled = _REFERENCE.sub(value, line)
    return "" if found and not any(found) else filled

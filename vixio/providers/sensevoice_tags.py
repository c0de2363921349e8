"""Parses the tags in the output of SenseVoice models and removes them from the text.

Each segment begins with four tags: language, emotion, event, and whether numbers are written in
digits, as in ``<|zh|><|HAPPY|><|Speech|><|withitn|>今天真好。``. The names are those of FunASR's
``funasr/utils/postprocess_utils.py``, which can replace the tags by emoji; those are parsed too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_TAG: Final = re.compile(r"<\s?\|\s?([^<>|\s]{1,32})\s?\|\s?>")
"""A tag. A punctuation model may have added spaces inside."""

_CUT_TAG: Final = re.compile(r"<\s?(\|[^<>|]{0,34}(\|\s?)?)?\Z")
"""The beginning of a tag at the end of a partial result."""

_LANGUAGE: Final = re.compile(r"[a-z]{2,3}")
_NO_SPEECH: Final = "nospeech"

_EMOTIONS: Final = {
    "HAPPY": "happy",
    "SAD": "sad",
    "ANGRY": "angry",
    "NEUTRAL": "neutral",
    "FEARFUL": "fearful",
    "DISGUSTED": "disgusted",
    "SURPRISED": "surprised",
}

_EVENTS: Final = {
    "BGM": "music",
    "Applause": "applause",
    "Laughter": "laughter",
    "Cry": "crying",
    "Sneeze": "sneeze",
    "Breath": "breath",
    "Cough": "cough",
    "Sing": "singing",
}
"""``Speech``, ``Event_UNK``, ``Speech_Noise`` and ``GBG`` carry no useful information."""

_EMOJI: Final = {
    "😊": "HAPPY",
    "😔": "SAD",
    "😡": "ANGRY",
    "😰": "FEARFUL",
    "🤢": "DISGUSTED",
    "😮": "SURPRISED",
    "🎼": "BGM",
    "👏": "Applause",
    "😀": "Laughter",
    "😭": "Cry",
    "🤧": "Sneeze",
    "😷": "Cough",
    "❓": _NO_SPEECH,
}
_EMOJI_PATTERN: Final = re.compile("|".join(_EMOJI))

_UNSPACED: Final = re.compile("[\u2e80-\u9fff\uff00-\uffef]")
"""Chinese and Japanese characters and punctuation, which are written without spaces."""


@dataclass(frozen=True, slots=True)
class TaggedText:
    """A text and the values of its tags.

    ``language``: ``zh``, ``yue``, ``en``, ``ja`` or ``ko`` (valid BCP 47), the most frequent one of
    the segments; empty without a tag. ``emotion``: ``happy``, ``sad``, ``angry``, ``neutral``,
    ``fearful``, ``disgusted`` or ``surprised``; empty if unknown or without a tag. ``events``:
    sounds other than speech, as ``music`` or ``laughter``, without duplicates.
    """

    text: str
    language: str = ""
    emotion: str = ""
    events: tuple[str, ...] = ()


def parse_tags(raw: str) -> TaggedText:
    """Return the text of ``raw`` and the values of its tags. A text without tags is unchanged.

    Unknown tags are dropped, as is an incomplete tag at the end of a partial result. Text that the
    model marks as ``nospeech`` is dropped as well.
    """
    raw = _CUT_TAG.sub("", _EMOJI_PATTERN.sub(lambda found: f"<|{_EMOJI[found[0]]}|>", raw))
    # split() with one group returns text, tag, text, tag, …, text.
    first, *rest = _TAG.split(raw)
    segments = [first]
    languages: Counter[str] = Counter()
    emotions: Counter[str] = Counter()
    events: dict[str, None] = {}
    silent = False
    for tag, words in zip(rest[::2], rest[1::2], strict=True):
        if tag == _NO_SPEECH:
            silent = True
        elif _LANGUAGE.fullmatch(tag):
            silent = False
            languages[tag] += 1
        elif tag in _EMOTIONS:
            emotions[_EMOTIONS[tag]] += 1
        elif tag in _EVENTS:
            events[_EVENTS[tag]] = None
        if not silent:
            segments.append(words)
    text = join_segments(segments)
    while _TAG.search(text):  # removing a tag may join its surroundings to another tag
        text = _TAG.sub("", text).strip()
    return TaggedText(text, _most(languages), _most(emotions, but="neutral"), tuple(events))


def join_segments(segments: Iterable[str]) -> str:
    """Return the segments joined with spaces, except next to Chinese or Japanese characters."""
    joined = ""
    for segment in segments:
        words = segment.strip()
        if joined and words and not _UNSPACED.match(joined[-1]) and not _UNSPACED.match(words):
            joined += " "
        joined += words
    return joined


def _most(counted: Counter[str], but: str = "") -> str:
    """Return the most frequent name; in a tie the first one that is not ``but``."""
    return max(counted, key=lambda name: (counted[name], name != but), default="")

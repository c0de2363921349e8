"""Reads the tags that SenseVoice models put around their words: none of them is ever spoken.

Each segment of such a text begins with four tags: language, emotion, event, and whether numbers
are written in digits, as in ``<|zh|><|HAPPY|><|Speech|><|withitn|>今天真好。``. The names are
those of FunASR's ``funasr/utils/postprocess_utils.py``, whose own clean-up turns them into emoji;
texts that went through that are understood too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_TAG: Final = re.compile(r"<\s?\|\s?([^<>|\s]{1,32})\s?\|\s?>")
"""A tag; a punctuation model that read over it has put spaces inside."""

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
"""``Speech``, ``Event_UNK``, ``Speech_Noise`` and ``GBG`` say nothing that one could act on."""

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
"""Chinese and Japanese letters and their punctuation: no space stands beside them."""


@dataclass(frozen=True, slots=True)
class TaggedText:
    """What a text with tags says.

    ``language``: ``zh``, ``yue``, ``en``, ``ja`` or ``ko`` (valid BCP 47), empty where it is not
    told; the one of most segments. ``emotion``: ``happy``, ``sad``, ``angry``, ``neutral``,
    ``fearful``, ``disgusted`` or ``surprised``, empty where it is not told or not known.
    ``events``: what was heard beside speech, as ``music`` or ``laughter``, each once.
    """

    text: str
    language: str = ""
    emotion: str = ""
    events: tuple[str, ...] = ()


def parse_tags(raw: str) -> TaggedText:
    """Return the words of ``raw`` and what its tags say; a text without tags comes back as it is.

    A tag of an unknown name is dropped, as is the beginning of one at the end (partial results are
    cut anywhere). Words that the model itself marks as no speech are dropped as well.
    """
    raw = _CUT_TAG.sub("", _EMOJI_PATTERN.sub(lambda found: f"<|{_EMOJI[found[0]]}|>", raw))
    # split() with one group gives words, tag, words, tag, …, words.
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
    while _TAG.search(text):  # taking one out may make another of what stood around it
        text = _TAG.sub("", text).strip()
    return TaggedText(text, _most(languages), _most(emotions, but="neutral"), tuple(events))


def join_segments(segments: Iterable[str]) -> str:
    """Return texts in a row as one: a space between them, but not beside Chinese or Japanese."""
    joined = ""
    for segment in segments:
        words = segment.strip()
        if joined and words and not _UNSPACED.match(joined[-1]) and not _UNSPACED.match(words):
            joined += " "
        joined += words
    return joined


def _most(counted: Counter[str], but: str = "") -> str:
    """Return what was counted most often, in a tie the first that is not ``but``."""
    return max(counted, key=lambda name: (counted[name], name != but), default="")

"""What is said to the device: commands with and without pauses, in noise and while others talk,
other speech, coughs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from vixio.core.audio import LISTEN_RATE
from vixio.testing.voices import Floats, Speaker, Voices
from vixio_bench.background import among
from vixio_bench.end_of_turn import PEAK_DB
from vixio_bench.paused_speech import PAUSE_MEDIAN_S, PAUSE_SPREAD, paused

SPEAKERS: Final = (Speaker("en-us+m1", rate=155, pitch=52), Speaker("en-us+f3", rate=163, pitch=58))
SLOW: Final = Speaker("en-us+m5", rate=115, pitch=43)
QUICK: Final = Speaker("en-us+f2", rate=230, pitch=62)

COMMANDS: Final[tuple[tuple[str, ...], ...]] = (
    ("set the volume", "to thirty percent"),
    ("turn up", "the volume"),
    ("what is", "the volume"),
    ("what time", "is it"),
    ("what day is", "it today"),
    ("set the brightness", "to fifty percent"),
    ("what is", "the battery level"),
    ("switch to", "the dark theme"),
    ("mute", "the sound"),
    ("make the screen", "brighter"),
    ("how much battery", "is left"),
    ("what's the brightness", "of the screen"),
)
"""Known to the default set with a device of the common tools; split where one may hesitate."""

OTHER: Final = (
    "what is the weather in Berlin",
    "tell me something funny",
    "who wrote this book",
    "the water is too cold",
    "could you shut the door",
    "dinner is ready",
    "that was a long day",
    "I will be ten minutes late",
)

OTHERS_DB: Final = 10.0
"""By which others in the room are quieter than the user."""

NOISES_DB: Final = (-46.0, -38.0)
"""Pink noise of the room, below full scale; the voice's peaks are at -9 dB."""


@dataclass(frozen=True, slots=True)
class Situation:
    """``expected``: the words that are to be heard; None: any, and "" for no answer at all.

    ``ends``: seconds after which the user's voice ends, where others are heard behind it.
    """

    group: str
    name: str
    sound: Floats
    expected: str | None
    ends: float | None = None


def situations(seed: int, limit: int | None = None) -> list[Situation]:
    """Return all, or ``limit`` of each group. The same for the same ``seed``."""
    every = list(_every(np.random.default_rng(seed)))
    if limit is None:
        return every
    groups: dict[str, list[Situation]] = {}
    for each in every:
        groups.setdefault(each.group, []).append(each)
    return [each for group in groups.values() for each in group[:limit]]


def _every(draw: np.random.Generator) -> Iterator[Situation]:
    voices = Voices(repeatable=True)

    def said(group: str, parts: Sequence[str], pauses: Sequence[float], who: Speaker) -> Situation:
        utterance = paused(voices, parts, pauses, who)
        return Situation(group, utterance.name, loud(utterance.sound), " ".join(parts))

    for who in SPEAKERS:
        for parts in COMMANDS:
            yield said("known", [" ".join(parts)], [], who)
        for parts in COMMANDS:
            pause = float(draw.lognormal(math.log(PAUSE_MEDIAN_S), PAUSE_SPREAD))
            yield said("hesitating", parts, [min(pause, 1.5)], who)
    for group, who in (("slow", SLOW), ("quick", QUICK)):
        for parts in COMMANDS[:6]:
            yield said(group, [" ".join(parts)], [], who)
    for level in NOISES_DB:
        for parts in COMMANDS[:6]:
            clean = said("noise", [" ".join(parts)], [], SPEAKERS[0])
            sound = clean.sound + pink(len(clean.sound), level)
            yield Situation("noise", clean.name, sound, clean.expected)
    for number, parts in enumerate(COMMANDS):
        who = SPEAKERS[number % len(SPEAKERS)]
        spoken = paused(voices, [" ".join(parts)], [], who)
        room = among(voices, spoken, (1, 3, 6)[number % 3], OTHERS_DB, draw)
        yield Situation("others", spoken.name, loud(room.utterance.sound), None, room.ends)
    for text in OTHER:
        each = said("other", [text], [], SPEAKERS[0])
        yield Situation("other", each.name, each.sound, None)
    for number in range(10):
        yield Situation("cough", f"cough {number + 1}", cough(draw), "")


def loud(sound: Floats) -> Floats:
    """Return the sound with the peaks of a user who speaks at an arm's length."""
    peak = float(np.abs(sound).max()) or 1.0
    return sound * np.float32(10 ** (PEAK_DB / 20) / peak)


def pink(length: int, level_db: float) -> Floats:
    """Return so many samples of pink noise of this RMS."""
    draw = np.random.default_rng(length)
    spectrum = np.fft.rfft(draw.standard_normal(length))
    spectrum[1:] /= np.sqrt(np.arange(1, len(spectrum)))
    noise = np.fft.irfft(spectrum, length)
    return np.asarray(noise * 10 ** (level_db / 20) / noise.std(), np.float32)


def cough(draw: np.random.Generator) -> Floats:
    """Return a burst of noise of 80 to 250 ms that fades."""
    length = int(draw.uniform(0.08, 0.25) * LISTEN_RATE)
    burst = draw.standard_normal(length) * np.exp(-np.linspace(0, 4, length))
    return loud(np.asarray(burst, np.float32))

"""A number in an utterance: three tones above the voice, all below the 6 kHz that Opus may cut at.

They are loud, so that every window of speech carries the number through any encoder. The third tone
also checks the other two: a window in which one tone was taken for its neighbour carries no number.
The windows vote, so one bad window decides nothing.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np
import numpy.typing as npt

from vixio.core.audio import LISTEN_RATE

_LOWEST_HZ: Final = (4_200, 4_760, 5_320)
_DIGITS: Final = 8
_STEP_HZ: Final = 70
_LEVEL: Final = 1_600
"""Amplitude of each tone, of 32768."""
_CLEARANCE: Final = 1.5
_WINDOW: Final = 8_192
"""Samples of one window: half a second."""
_HOP: Final = 2_000
_FAINTEST: Final = 200 * _WINDOW / 4
"""Of a tone in the spectrum: an eighth of what was put in."""

_QUORUM: Final = 3
"""Windows that have to agree; an utterance has about ten."""

NUMBERS: Final = 2 * _DIGITS**2

MAX_BYTES: Final = 320_000
"""Ten seconds: no speaker of numbers talks longer."""

Samples = npt.NDArray[np.int16]

_HANN: Final = np.hanning(_WINDOW)


def mark(voice: Samples, number: int) -> Samples:
    """Return ``voice`` (16 kHz) with ``number`` (below NUMBERS) in it."""
    spectrum = np.fft.rfft(voice.astype(np.float64))
    spectrum[np.fft.rfftfreq(len(voice), 1 / LISTEN_RATE) > 3_900] = 0
    marked = np.fft.irfft(spectrum, len(voice)) * 0.8
    time = np.arange(len(voice)) / LISTEN_RATE
    for low, digit in zip(_LOWEST_HZ, _digits(number), strict=True):
        marked += _LEVEL * np.sin(2 * np.pi * (low + _STEP_HZ * digit) * time)
    return np.clip(marked, -32_768, 32_767).astype("<i2")


def vote(pcm: bytes) -> int | None:
    """Return the number that most windows of ``pcm`` (16 kHz) carry, None if none carries one."""
    samples = np.frombuffer(pcm[:MAX_BYTES], "<i2")
    ends = range(_WINDOW, len(samples) + 1, _HOP)
    found = (_read(samples[end - _WINDOW : end]) for end in ends)
    seen = Counter(number for number in found if number is not None)
    number, votes = max(seen.items(), key=lambda item: item[1], default=(0, 0))
    return number if votes >= _QUORUM else None


def _read(window: Samples) -> int | None:
    spectrum = np.abs(np.fft.rfft(window * _HANN))
    digits: list[int] = []
    for low in _LOWEST_HZ:
        strength = []
        for digit in range(_DIGITS):
            at = round((low + _STEP_HZ * digit) * _WINDOW / LISTEN_RATE)
            strength.append(float(spectrum[at - 1 : at + 2].max()))
        first, second = sorted(strength, reverse=True)[:2]
        if first < max(_FAINTEST, _CLEARANCE * second):
            return None
        digits.append(strength.index(first))
    first_digit, second_digit, check = digits
    half, rest = divmod((check - _sum(first_digit, second_digit)) % _DIGITS, _DIGITS // 2)
    return None if rest else (first_digit * _DIGITS + second_digit) * 2 + half


def _digits(number: int) -> tuple[int, int, int]:
    pair, half = divmod(number, 2)
    first, second = divmod(pair, _DIGITS)
    return first, second, (_sum(first, second) + half * _DIGITS // 2) % _DIGITS


def _sum(first: int, second: int) -> int:
    """Return what differs when either digit is wrong, unless by half of what there are."""
    return first + 3 * second

"""A number in an utterance: three tones above the voice, one in each of three bands.

They are loud and far from each other, so that every window of speech carries the number through any
encoder; the windows vote, and one bad window decides nothing.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np
import numpy.typing as npt

from vixio.core.audio import LISTEN_RATE

_LOWEST_HZ: Final = (4_500, 5_400, 6_300)
_DIGITS: Final = 8
_STEP_HZ: Final = 100
_LEVEL: Final = 1_600
"""Amplitude of each tone, of 32768."""
_CLEARANCE: Final = 1.5
_WINDOW: Final = 8_192
"""Samples of one window: half a second."""
_HOP: Final = 2_000
_FAINTEST: Final = 200 * _WINDOW / 4
"""Of a tone in the spectrum: an eighth of what was put in."""

NUMBERS: Final = _DIGITS**3

MAX_BYTES: Final = 320_000
"""Ten seconds: no speaker of numbers talks longer."""

Samples = npt.NDArray[np.int16]

_HANN: Final = np.hanning(_WINDOW)


def mark(voice: Samples, number: int) -> Samples:
    """Return ``voice`` (16 kHz) with ``number`` (below NUMBERS) in it."""
    spectrum = np.fft.rfft(voice.astype(np.float64))
    spectrum[np.fft.rfftfreq(len(voice), 1 / LISTEN_RATE) > 4_000] = 0
    marked = np.fft.irfft(spectrum, len(voice)) * 0.8
    time = np.arange(len(voice)) / LISTEN_RATE
    for low, digit in zip(_LOWEST_HZ, _digits(number), strict=True):
        marked += _LEVEL * np.sin(2 * np.pi * (low + _STEP_HZ * digit) * time)
    return np.clip(marked, -32_768, 32_767).astype("<i2")


def vote(pcm: bytes) -> int | None:
    """Return the number that most windows of ``pcm`` (16 kHz) carry, None if none carries one."""
    samples = np.frombuffer(pcm[:MAX_BYTES], "<i2")
    ends = range(_WINDOW, len(samples) + 1, _HOP)
    seen = Counter(_read(samples[end - _WINDOW : end]) for end in ends)
    seen.pop(None, None)
    return seen.most_common(1)[0][0] if seen else None


def _read(window: Samples) -> int | None:
    spectrum = np.abs(np.fft.rfft(window * _HANN))
    number = 0
    for low in _LOWEST_HZ:
        strength = []
        for digit in range(_DIGITS):
            at = round((low + _STEP_HZ * digit) * _WINDOW / LISTEN_RATE)
            strength.append(float(spectrum[at - 1 : at + 2].max()))
        first, second = sorted(strength, reverse=True)[:2]
        if first < max(_FAINTEST, _CLEARANCE * second):
            return None
        number = number * _DIGITS + strength.index(first)
    return number


def _digits(number: int) -> tuple[int, int, int]:
    return number // _DIGITS**2, number // _DIGITS % _DIGITS, number % _DIGITS

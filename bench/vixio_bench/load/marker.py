"""A number inside speech, so that every answer can be traced to the device that asked.

Three tones above the voice stand for the number. They pass Opus like any sound, so a packet that
ended up in another device's stream gives a wrong number or none.
"""

from __future__ import annotations

from itertools import combinations
from typing import Final

import numpy as np
import numpy.typing as npt

from vixio.core.audio import LISTEN_RATE

_TONES: Final = tuple(range(4_700, 7_201, 100))
"""Hz; inside the wideband of 16 kHz Opus, above all but the hiss of speech."""
_CHORDS: Final = tuple(combinations(range(len(_TONES)), 3))
_NUMBERS: Final = {chord: number for number, chord in enumerate(_CHORDS)}

MAX_MARKERS: Final = len(_CHORDS)
"""Number of devices that the tones can distinguish: 2,600."""

WINDOW: Final = 16_384
"""Samples that are looked at: a second."""

_LEVEL: Final = 0.015
"""Amplitude of each tone relative to full scale, about 25 dB below the voice's peaks."""
_VOICE_BAND_HZ: Final = 4_000
_CLEARANCE: Final = 2.0
"""The weakest tone of a chord is at least so much stronger than the strongest other one."""

Samples = npt.NDArray[np.int16]


def mark(voice: Samples, number: int) -> Samples:
    """Return ``voice`` (16 kHz) with ``number`` in it, its own upper band taken away.

    Raises IndexError for a number of MAX_MARKERS or more.
    """
    spectrum = np.fft.rfft(voice.astype(np.float64))
    spectrum[np.fft.rfftfreq(len(voice), 1 / LISTEN_RATE) > _VOICE_BAND_HZ] = 0
    marked = np.fft.irfft(spectrum, len(voice))
    time = np.arange(len(voice)) / LISTEN_RATE
    for tone in _CHORDS[number]:
        marked += 32_768 * _LEVEL * np.sin(2 * np.pi * _TONES[tone] * time)
    return np.clip(marked, -32_768, 32_767).astype("<i2")


def read(pcm: bytes) -> int | None:
    """Return the number in the last ``WINDOW`` samples of ``pcm`` (16 kHz), None if there is none.

    Takes about 0.1 ms.
    """
    samples = np.frombuffer(pcm, "<i2")[-WINDOW:]
    if len(samples) < WINDOW:
        return None
    spectrum = np.abs(np.fft.rfft(samples * _HANN))
    strength = [float(spectrum[bin_ - 1 : bin_ + 2].max()) for bin_ in _BINS]
    order = sorted(range(len(_TONES)), key=strength.__getitem__, reverse=True)
    if strength[order[2]] <= _CLEARANCE * strength[order[3]]:
        return None
    first, second, third = sorted(order[:3])
    return _NUMBERS[first, second, third]


_HANN: Final = np.hanning(WINDOW)
_BINS: Final = tuple(round(tone * WINDOW / LISTEN_RATE) for tone in _TONES)


class MarkerReader:
    """Reads the number while the speech comes in, so that nothing is left to do at its end."""

    def __init__(self) -> None:
        self._pcm = bytearray()
        self._looked = 0
        self.number: int | None = None

    def feed(self, pcm: bytes) -> None:
        """Take the next audio; looks every quarter of a second until the number is found."""
        if self.number is not None:
            return
        self._pcm += pcm
        if len(self._pcm) >= max(2 * WINDOW, self._looked + LISTEN_RATE // 2):
            self._looked = len(self._pcm)
            self.number = read(bytes(self._pcm[-2 * WINDOW :]))

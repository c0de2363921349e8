"""The music of the demo ``home``, which is waves on a beach, and where a recording lies in it."""

from __future__ import annotations

import wave
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from firmware_test_client import Reply

RATE: Final = 24_000
"""Hz, that of the device: a sample of the file is a sample of the loudspeaker."""
PACKET: Final = RATE * 60 // 1000
"""Samples of a packet."""

_CODEC_DELAY: Final = 60
"""Samples that Opus looks ahead, which come out first."""
_WINDOW: Final = RATE // 4
_ALIKE: Final = 0.8
"""Of 1, that each quarter of a second must be like the file; beside its place it is below 0.5."""
Samples = npt.NDArray[np.int16]


def surf(seconds: float) -> Samples:
    """Return waves on a beach: a noise between 300 and 3000 Hz, no part of which is like another.

    The codec keeps its form, as it does not with tones.
    """
    samples = round(seconds * RATE)
    noise = np.random.default_rng(7).standard_normal(samples)
    spectrum = np.fft.rfft(noise)
    hertz = np.fft.rfftfreq(samples, 1 / RATE)
    spectrum[(hertz < 300) | (hertz > 3000)] = 0
    swell = 0.6 + 0.4 * np.sin(np.arange(samples) * 2 * np.pi / (7 * RATE))
    sound = np.fft.irfft(spectrum, samples) * swell
    return np.asarray(sound / np.abs(sound).max() * 20_000, np.int16)


def write_wav(path: Path, samples: Samples) -> None:
    """Write a mono file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(samples.tobytes())


@dataclass(frozen=True, slots=True)
class Played:
    """What there was of a file in a reply. ``begins``, ``ends``: samples of the file."""

    begins: int
    ends: int
    alike: float
    """The quarter of a second that is least like the file, 0 to 1."""
    gaps: int
    """Silences because no packet was there."""

    @property
    def whole(self) -> bool:
        """Whether all of it is the file, one sample after another, and without a gap."""
        return self.alike >= _ALIKE and not self.gaps

    @property
    def seconds(self) -> float:
        """Of the file that were heard."""
        return (self.ends - self.begins) / RATE


def played(reply: Reply, whole: Samples) -> Played:
    """Find what a reply's loudspeaker played in a file, by correlation."""
    heard, file = reply.heard.samples.astype(np.float64), whole.astype(np.float64)
    first = 4 * PACKET  # behind the codec's own beginning
    if reply.heard_rate != RATE or len(heard) < first + 4 * _WINDOW:
        return Played(0, 0, 0.0, reply.underruns)
    part = heard[first : first + 4 * _WINDOW]
    size = 1 << (len(file) + len(part)).bit_length()
    product = np.fft.irfft(np.fft.rfft(file, size) * np.conj(np.fft.rfft(part, size)), size)
    place = int(np.argmax(product[: len(file)])) - first
    alike = [
        _alike(heard[at : at + _WINDOW], file[place + at : place + at + _WINDOW])
        for at in range(first, len(heard) - _WINDOW, _WINDOW)
        if place + at + _WINDOW <= len(file)
    ]
    begins = place + _CODEC_DELAY
    return Played(begins, begins + len(heard), min(alike, default=0.0), reply.underruns)


def _alike(heard: npt.NDArray[np.float64], there: npt.NDArray[np.float64]) -> float:
    if len(heard) != len(there):
        return 0.0
    return float(heard @ there / (np.linalg.norm(heard) * np.linalg.norm(there) + 1e-9))

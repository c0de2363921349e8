"""PCM with its rate: reading and writing WAV, resampling, room noise."""

from __future__ import annotations

import wave
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import soxr

from firmware_test_client.errors import SpeechError

Samples = npt.NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class Pcm:
    """16-bit little-endian mono samples with their rate."""

    data: bytes
    rate: int  # Hz

    @property
    def duration(self) -> float:
        """Seconds."""
        return len(self.data) / 2 / self.rate

    @property
    def samples(self) -> Samples:
        """A read-only view of the samples."""
        return np.frombuffer(self.data, dtype="<i2")

    @property
    def rms(self) -> float:
        """Root mean square of the samples, 0..32768; 0 when there are none."""
        if not self.data:
            return 0.0
        return float(np.sqrt(np.mean(np.square(self.samples.astype(np.float64)))))

    def resampled(self, rate: int) -> Pcm:
        """The same sound at another rate (soxr, high quality)."""
        if rate == self.rate or not self.data:
            return Pcm(self.data, rate)
        return from_samples(np.asarray(soxr.resample(self.samples, self.rate, rate)), rate)


def from_samples(samples: npt.NDArray[np.generic], rate: int) -> Pcm:
    """Clip to 16 bits and pack."""
    return Pcm(np.clip(samples, -32768, 32767).astype("<i2").tobytes(), rate)


def read_wav(path: Path) -> Pcm:
    """Read a 16-bit PCM WAV file; more channels are averaged to one.

    Raises:
        SpeechError: the file is missing, no WAV, or not of 16 bits.
    """
    try:
        with wave.open(str(path), "rb") as file:
            if file.getsampwidth() != 2:
                raise SpeechError(f"{path}: {8 * file.getsampwidth()} bits a sample, 16 expected")
            channels, rate = file.getnchannels(), file.getframerate()
            data = file.readframes(file.getnframes())
    except (OSError, EOFError, wave.Error) as error:
        raise SpeechError(f"{path}: {error}") from error
    if channels == 1:
        return Pcm(data, rate)
    return from_samples(np.frombuffer(data, dtype="<i2").reshape(-1, channels).mean(axis=1), rate)


def write_stereo_wav(path: Path, left: Pcm, right: Pcm) -> None:
    """Write two sounds as the channels of one file, at the higher of the two rates."""
    rate = max(left.rate, right.rate)
    sides = [left.resampled(rate).samples, right.resampled(rate).samples]
    both = np.zeros((max(map(len, sides)), 2), dtype="<i2")
    for channel, samples in enumerate(sides):
        both[: len(samples), channel] = samples
    with wave.open(str(path), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(both.tobytes())


def room_noise(seconds: float, rate: int, dbfs: float | None, seed: int = 7) -> Pcm:
    """White noise of the given RMS, always the same for the same arguments; None is silence."""
    count = round(seconds * rate)
    if dbfs is None:
        return Pcm(bytes(2 * count), rate)
    sigma = 32768 * 10 ** (dbfs / 20)
    return from_samples(np.round(np.random.default_rng(seed).normal(0, sigma, count)), rate)

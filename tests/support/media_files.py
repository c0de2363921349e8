"""Sound files of the tests: a noise in which each place is known, and where a recording lies."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
import numpy.typing as npt
import soxr

Samples = npt.NDArray[np.float64]


def sound(seconds: float, rate: int, seed: int = 7) -> npt.NDArray[np.int16]:
    """Return noise between 300 and 3000 Hz, no part of which is like another."""
    random = np.random.default_rng(seed)
    coarse = random.standard_normal(int(seconds * 6_000) + 64)
    samples = soxr.resample(coarse, 6_000, rate)[: int(seconds * rate)]
    samples /= np.max(np.abs(samples))
    return np.asarray(samples * 20_000, np.int16)


def write_wav(path: Path, samples: npt.NDArray[np.int16], rate: int) -> None:
    """Write a mono file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(samples.tobytes())


def place_of(part: bytes, rate: int, whole: npt.NDArray[np.int16]) -> tuple[int, float]:
    """Return at which sample of ``whole`` (of the same rate) ``part`` begins, and how alike they
    are (0 to 1)."""
    heard = np.frombuffer(part, "<i2").astype(np.float64)
    wanted = whole.astype(np.float64)
    size = 1 << (len(wanted) + len(heard)).bit_length()
    product = np.fft.irfft(np.fft.rfft(wanted, size) * np.conj(np.fft.rfft(heard, size)), size)
    at = int(np.argmax(product[: max(1, len(wanted) - len(heard) + 1)]))
    there = wanted[at : at + len(heard)]
    heard = heard[: len(there)]
    alike = float(np.dot(there, heard) / (np.linalg.norm(there) * np.linalg.norm(heard) + 1e-9))
    return at, alike

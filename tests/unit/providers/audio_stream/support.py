"""Decodes streams in pieces, and compares the result with the original."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from vixio.providers.audio_stream import AudioFormatName, AudioStreamDecoder

RATE = 24_000


def cut(data: bytes, size: int) -> Iterable[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def decode(
    data: bytes,
    size: int = 700,
    *,
    asked: AudioFormatName = "auto",
    rate: int = RATE,
    pcm_rate: int = RATE,
) -> NDArray[np.int16]:
    decoder = AudioStreamDecoder("test", rate, asked=asked, pcm_rate=pcm_rate)
    pcm = b"".join(decoder.feed(piece) for piece in cut(data, size)) + decoder.finish()
    return np.frombuffer(pcm, "<i2")


def likeness(heard: NDArray[np.int16], meant: NDArray[np.int16]) -> float:
    """Return the highest correlation (at most 1) of ``meant`` with the decoded audio."""
    one, other = heard.astype(float), meant.astype(float)
    size = 1 << (len(one) + len(other)).bit_length()
    spectrum = np.fft.rfft(one, size) * np.conj(np.fft.rfft(other, size))
    best = float(np.fft.irfft(spectrum, size).max())
    return best / float(np.linalg.norm(one) * np.linalg.norm(other))

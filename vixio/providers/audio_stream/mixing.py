"""Channels to one, and rates to one, over a stream of pieces."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def to_mono(samples: NDArray[Any]) -> bytes:
    """Return samples of shape (n, channels), integers of 16-bit range, as mono PCM."""
    if samples.shape[1] == 1:
        return bytes(samples.astype("<i2").tobytes())
    return bytes(samples.astype(np.int32).mean(axis=1).round().astype("<i2").tobytes())


class Resampler:
    """PCM from one rate to another (libsoxr, "HQ"); its state bridges the pieces."""

    def __init__(self, rate_in: int, rate_out: int) -> None:
        import soxr

        self._stream = soxr.ResampleStream(rate_in, rate_out, 1, dtype="int16", quality="HQ")

    def feed(self, pcm: bytes, *, last: bool = False) -> bytes:
        """Take whole samples and return those that are ready; ``last``: all of them."""
        resampled = self._stream.resample_chunk(np.frombuffer(pcm, "<i2"), last=last)
        return bytes(resampled.astype("<i2").tobytes())

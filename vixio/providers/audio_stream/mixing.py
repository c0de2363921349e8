"""Downmixing to one channel, and resampling of a stream."""

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
    """Resamples a stream of PCM (libsoxr, "HQ"). It keeps state between pieces."""

    def __init__(self, rate_in: int, rate_out: int) -> None:
        import soxr

        self._stream = soxr.ResampleStream(rate_in, rate_out, 1, dtype="int16", quality="HQ")

    def feed(self, pcm: bytes, *, last: bool = False) -> bytes:
        """Take whole samples; return those that are ready, and all that remain if ``last``."""
        resampled = self._stream.resample_chunk(np.frombuffer(pcm, "<i2"), last=last)
        return bytes(resampled.astype("<i2").tobytes())

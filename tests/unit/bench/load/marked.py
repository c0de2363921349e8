"""Sound that carries a device's number."""

from __future__ import annotations

import numpy as np

from vixio.core.audio import LISTEN_RATE
from vixio_bench.load import marker


def sound(number: int, seconds: float = 3.0) -> bytes:
    """Return 16 kHz PCM: noise as loud as a voice, with ``number`` in it."""
    generator = np.random.default_rng(1)
    voice = np.round(generator.normal(0, 400, round(seconds * LISTEN_RATE))).astype("<i2")
    return marker.mark(voice, number).tobytes()

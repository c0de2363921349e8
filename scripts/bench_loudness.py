"""What levelling costs: milliseconds of processor time for each second of speech.

python scripts/bench_loudness.py
"""

from __future__ import annotations

from time import process_time

import numpy as np

from vixio.audio.loudness import Leveller, VoiceLevels

RATE = 24_000
SECONDS = 60


def main() -> None:
    """Level a minute of modulated noise in pieces of several lengths."""
    generator = np.random.default_rng(1)
    time = np.arange(SECONDS * RATE) / RATE
    wave = generator.normal(0, 2_000, len(time)) * (0.6 + 0.4 * np.sin(2 * np.pi * 3 * time))
    pcm = wave.astype("<i2").tobytes()
    levels = VoiceLevels()
    for piece_ms in (20, 60, 120, 500):
        size = 2 * RATE * piece_ms // 1000
        leveller = Leveller(-20.0, levels.of("voice"), RATE)
        began = process_time()
        for start in range(0, len(pcm), size):
            leveller.feed(pcm[start : start + size])
        leveller.finish()
        cost = (process_time() - began) * 1000 / SECONDS
        print(f"pieces of {piece_ms:3d} ms: {cost:.2f} ms of processor time for a second of speech")


if __name__ == "__main__":
    main()

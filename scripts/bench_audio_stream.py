"""How soon, and at what cost, a voice service's stream becomes PCM, for each format.

    python scripts/bench_audio_stream.py

The stream arrives in pieces of 720 bytes (what Edge TTS sends in a message, five frames). "first"
is the audio that lies in the bytes that were needed for the first sample, which is what a service
must have made before anything can be heard; the times are CPU times on this machine.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.sounds import MP3_24K_MONO, MP3_44K_STEREO, chirp, ogg_opus, wav
from vixio.core.audio import pcm_seconds
from vixio.providers.audio_stream import AudioFormatName, AudioStreamDecoder, load

RATE = 24_000
PIECE = 720
ROUNDS = 20


def streams() -> dict[str, tuple[AudioFormatName, bytes, float]]:
    """Ten seconds of each: what is asked for, the bytes, the seconds in them."""
    sound = chirp(RATE, 1.0)
    ten = b"".join(sound.tobytes() for _ in range(10))
    return {
        "pcm 24 kHz": ("pcm", ten, 10.0),
        "wav 44.1 kHz": ("wav", wav(chirp(44_100, 10.0).tobytes(), 44_100), 10.0),
        "mp3 24 kHz mono 48 kbit/s": ("mp3", MP3_24K_MONO * 8, 8 * 1.25),
        "mp3 44.1 kHz stereo 96 kbit/s": ("mp3", MP3_44K_STEREO * 12, 12 * 0.84),
        "ogg opus 24 kHz": ("opus", ogg_opus(chirp(RATE, 10.0), RATE), 10.0),
    }


def measure(asked: AudioFormatName, data: bytes, seconds: float) -> tuple[float, float, float]:
    """Return first (ms of audio), the slowest piece (ms), CPU seconds a second of audio."""
    firsts: list[float] = []
    worst: list[float] = []
    costs: list[float] = []
    for _ in range(ROUNDS):
        decoder = AudioStreamDecoder("bench", RATE, asked=asked)
        first, slowest, total = 0.0, 0.0, 0.0
        for at in range(0, len(data), PIECE):
            began = time.perf_counter()
            pcm = decoder.feed(data[at : at + PIECE])
            took = time.perf_counter() - began
            slowest, total = max(slowest, took), total + took
            if pcm and not first:
                first = seconds * min(at + PIECE, len(data)) / len(data)
        left = decoder.finish()
        if pcm_seconds(left, RATE) > seconds / 2:
            raise SystemExit(f"{asked}: the sound came at the end, not while it arrived")
        firsts.append(first * 1000)
        worst.append(slowest * 1000)
        costs.append(total / seconds)
    return median(firsts), median(worst), median(costs)


def main() -> None:
    began = time.perf_counter()
    load("bench", "mp3")
    print(f"loading: {(time.perf_counter() - began) * 1000:.0f} ms, once")
    print(f"{'format':32}{'first ms':>10}{'piece ms':>10}{'s/s':>10}")
    for name, (asked, data, seconds) in streams().items():
        first, slowest, cost = measure(asked, data, seconds)
        print(f"{name:32}{first:10.0f}{slowest:10.2f}{cost:10.5f}")


if __name__ == "__main__":
    main()

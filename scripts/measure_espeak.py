#!/usr/bin/env python3
"""How soon eSpeak NG speaks, for one device and for many at once.

    python scripts/measure_espeak.py [--devices 1 10 50] [--sentences 40]

Every device speaks one sentence after the other through its provider, with a random pause of up to
``--pause`` ms between two. The first sentence of each does not count. Shown are: first audio after
``synthesize`` was called (ms), audio synthesised in a second of wall-clock time (s), and the delay
of the event loop meanwhile (ms).
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
from statistics import median, quantiles
from time import perf_counter

from vixio.core.audio import pcm_seconds
from vixio.core.streams import closing
from vixio.providers.espeak.provider import EspeakTTSProvider
from vixio.providers.tts import TTSProvider
from vixio.telemetry.logging.setup import configure_logging

SENTENCES = (
    "Yes.",
    "The volume is now at thirty percent.",
    "It is sunny today, with twenty-one degrees in the afternoon and a light wind from the west.",
    "The quick brown fox jumps over the lazy dog, and nobody minds. " * 3,
)


async def device(
    tts: TTSProvider, number: int, sentences: int, pause: float, firsts: list[float]
) -> float:
    """Speak; return the seconds of audio."""
    generator = random.Random(number)  # noqa: S311 - no secret
    seconds = 0.0
    for count in range(sentences + 1):
        await asyncio.sleep(generator.uniform(0, pause))
        text = SENTENCES[(number + count) % len(SENTENCES)]
        start, first = perf_counter(), 0.0
        async with closing(tts.synthesize(text, language="en")) as pieces:
            async for pcm in pieces:
                first = first or perf_counter() - start
                seconds += pcm_seconds(pcm, tts.sample_rate)
        if count:
            firsts.append(first * 1000)
    return seconds


async def watch(delays: list[float]) -> None:
    """Note how late the event loop is."""
    while True:
        before = perf_counter()
        await asyncio.sleep(0.002)
        delays.append((perf_counter() - before - 0.002) * 1000)


async def measure(devices: int, sentences: int, pause: float) -> None:
    """Print one row."""
    tts = EspeakTTSProvider()
    start = perf_counter()
    await tts.start()
    loaded = perf_counter() - start
    firsts: list[float] = []
    delays: list[float] = []
    watching = asyncio.create_task(watch(delays))
    start = perf_counter()
    seconds = sum(
        await asyncio.gather(
            *(device(tts, number, sentences, pause, firsts) for number in range(devices))
        )
    )
    took = perf_counter() - start
    watching.cancel()
    await tts.close()
    print(
        f"{devices:4} devices: loaded {loaded * 1000:.0f} ms, first audio p50 "
        f"{median(firsts):.2f} p95 {quantiles(firsts, n=20)[18]:.2f} max {max(firsts):.2f} ms, "
        f"{seconds / took:.0f} s/s, loop p95 {quantiles(delays, n=20)[18]:.2f} "
        f"max {max(delays):.2f} ms",
        flush=True,
    )


def main() -> int:
    """Measure each number of devices in its turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, nargs="+", default=[1, 10, 50])
    parser.add_argument("--sentences", type=int, default=40)
    parser.add_argument("--pause", type=float, default=0.0, help="most between two sentences (ms)")
    chosen = parser.parse_args()
    configure_logging("ERROR")
    for devices in chosen.devices:
        asyncio.run(measure(devices, chosen.sentences, chosen.pause / 1000))
    return 0


if __name__ == "__main__":
    sys.exit(main())

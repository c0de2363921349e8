"""How fast this machine's core is, so that marks mean the same on each machine.

A fixed amount of the kind of work that the server does on one core: Python code, JSON, numpy on
small arrays, and Opus. Its time is compared with that on the machine of docs/performance.md.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from typing import Final

import numpy as np

from vixio.audio.opus import OpusDecoder, OpusEncoder
from vixio.bench.load.control import BenchError
from vixio.core.audio import AudioFormat

REFERENCE_S: Final = 0.037
"""The time of one round there. An estimate, since the figures there are older than this loop: where
a round took 0.095 s, ``--mix speak`` and ``--mix talk`` with 60 devices took 2.9 and 2.5 times the
processor time a device that they take there."""

ROUNDS: Final = 15
"""Of which the median counts: the speed of a shared machine varies from second to second."""

MOST_CORES: Final = 4

_RATE: Final = 24_000
_SECONDS: Final = 2


async def slowness(cores: int) -> float:
    """Return how many times as long as the reference a core takes; below 1 it is faster.

    As many ``cores`` work at the same time as will do so under load, since two that share a
    physical one are slower together. Takes about three seconds. Raises BenchError.
    """
    workers = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-m", __name__, stdout=asyncio.subprocess.PIPE
        )
        for _ in range(max(1, min(cores, MOST_CORES)))
    ]
    said = await asyncio.gather(*(worker.communicate() for worker in workers))
    if failed := next((worker for worker in workers if worker.returncode), None):
        raise BenchError(f"the speed of a core cannot be measured: status {failed.returncode}")
    times = [float(out) for out, _ in said]
    return statistics.median(times) / REFERENCE_S


def typical_round() -> float:
    """Return the processor time (s) of a round: the median of :data:`ROUNDS`."""
    return statistics.median(_round() for _ in range(ROUNDS))


def _round() -> float:
    began = time.process_time()
    _python()
    _arrays()
    _codec()
    return time.process_time() - began


def _python() -> None:
    message = {"type": "tts", "state": "sentence_start", "text": "The weather is mild.", "n": 0}
    seen: dict[str, int] = {}
    for number in range(6_000):
        message["n"] = number
        parsed = json.loads(json.dumps(message))
        key = f"{parsed['type']}.{number % 97}"
        seen[key] = seen.get(key, 0) + len(parsed)
    if sum(seen.values()) != 24_000:
        raise AssertionError(seen)


def _arrays() -> None:
    samples = np.arange(1_440, dtype=np.int16)
    for _ in range(600):
        floats = samples.astype(np.float32) / 32_768
        np.clip(np.rint(floats * 0.8 * 32_768), -32_768, 32_767).astype("<i2").tobytes()


def _codec() -> None:
    generator = np.random.default_rng(1)
    time_ = np.arange(_RATE * _SECONDS) / _RATE
    voice = 6_000 * np.sin(2 * np.pi * 180 * time_) * np.sin(2 * np.pi * 3 * time_) ** 2
    pcm = (voice + generator.normal(0, 200, len(time_))).astype("<i2").tobytes()
    # Not the server's default, which may change: the reference would no longer be the same work.
    encoder = OpusEncoder(AudioFormat(_RATE, 60), complexity=0, application="voip")
    with OpusDecoder() as decoder:
        for packet in encoder.encode(pcm, _RATE):
            decoder.decode(packet)
    encoder.close()


if __name__ == "__main__":
    sys.stdout.write(f"{typical_round()}\n")

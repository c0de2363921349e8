"""How fast a core of this machine is: a fixed piece of the server's kind of work, timed.

Python code, JSON, numpy on small arrays, and Opus. The time of the work is compared with that on
the reference machine of docs/performance.md.
"""

from __future__ import annotations

import json
import statistics
import time
from dataclasses import dataclass
from typing import Final

from vixio.core.processor_use import of_thread

REFERENCE_S: Final = 0.037
"""The time of one round there. An estimate, since the figures there are older than this work: where
a round took 0.095 s, ``--mix speak`` and ``--mix talk`` with 60 devices took 2.9 and 2.5 times the
processor time a device that they take there."""

PARTS: Final = 20
"""Into which a round can be cut. The server takes such parts of two milliseconds, so that they
disturb nobody."""

MOST_SHARED: Final = 8.0
"""So short a look may fall into a moment in which the core was never free."""

_RATE: Final = 24_000


@dataclass(frozen=True, slots=True)
class CoreSpeed:
    """``slowness``: how many times as long as the reference a core takes; below 1 it is faster.

    Right to about a fifth. ``shared``: how many times as long it takes because others use it too;
    1: nobody does.
    """

    slowness: float
    shared: float


def core_speed(times: int = 12, *, whole: bool = False) -> CoreSpeed:
    """Measure the calling thread's core by the median of so many parts, or ``whole`` rounds.

    Twelve parts take 25 ms of the reference machine. Raises ConfigError if there is no codec.
    """
    parts = PARTS if whole else 1
    _work(1)  # finds the caches cold, and may import
    ran, waited = of_thread()
    median = statistics.median(_timed(parts) for _ in range(times))
    ran_then, waited_then = of_thread()
    shared = 1 + (waited_then - waited) / max(ran_then - ran, median)
    return CoreSpeed(median * PARTS / parts / REFERENCE_S, min(MOST_SHARED, shared))


def _timed(parts: int) -> float:
    began = time.thread_time()
    _work(parts)
    return time.thread_time() - began


def _work(parts: int) -> None:
    _python(300 * parts)
    _arrays(30 * parts)
    _codec(0.1 * parts)


def _python(times: int) -> None:
    message = {"type": "tts", "state": "sentence_start", "text": "The weather is mild.", "n": 0}
    seen: dict[str, int] = {}
    for number in range(times):
        message["n"] = number
        parsed = json.loads(json.dumps(message))
        key = f"{parsed['type']}.{number % 97}"
        seen[key] = seen.get(key, 0) + len(parsed)
    if sum(seen.values()) != 4 * times:
        raise AssertionError(seen)


def _arrays(times: int) -> None:
    import numpy as np

    samples = np.arange(1_440, dtype=np.int16)
    for _ in range(times):
        floats = samples.astype(np.float32) / 32_768
        np.clip(np.rint(floats * 0.8 * 32_768), -32_768, 32_767).astype("<i2").tobytes()


def _codec(seconds: float) -> None:
    import numpy as np

    from vixio.audio.codec import OpusDecoder, OpusEncoder
    from vixio.core.audio import AudioFormat

    generator = np.random.default_rng(1)
    at = np.arange(int(_RATE * seconds)) / _RATE
    voice = 6_000 * np.sin(2 * np.pi * 180 * at) * np.sin(2 * np.pi * 3 * at) ** 2
    pcm = (voice + generator.normal(0, 200, len(at))).astype("<i2").tobytes()
    # Not the server's default, which may change: the reference would no longer be the same work.
    encoder = OpusEncoder(AudioFormat(_RATE, 60), complexity=0, application="voip")
    with OpusDecoder() as decoder:
        for packet in encoder.encode(pcm, _RATE):
            decoder.decode(packet)
    encoder.close()

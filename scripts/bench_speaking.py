#!/usr/bin/env python3
"""What a spoken answer costs without sockets: levelled, encoded and handed over packet by packet.

    python scripts/bench_speaking.py [--answers 20] [--rounds 6] [--piece-ms 200]

Answers of three seconds are spoken at once, in real time. Shown for each round are milliseconds of
processor time for an answer, how much of them on the event loop, and hops to the encoder's thread.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from time import process_time, thread_time
from typing import Any

from vixio.audio.codec import OpusEncoder
from vixio.audio.loudness import Leveller, VoiceLevels
from vixio.core.metrics import Counters
from vixio.core.pacer import Pacer
from vixio.core.session.reply_audio import ReplyAudio
from vixio.core.streams import closing
from vixio.core.transport import AudioEncoder
from vixio.testing import ManualConnection
from vixio_bench.load.providers import RATE, SENTENCE_MS, CannedTTS, Delays


class Device(ManualConnection):
    """Counts its packets."""

    packets = 0

    def new_encoder(self) -> AudioEncoder:
        """Return the real one."""
        return OpusEncoder(self.output)

    async def send_audio(self, packets: Sequence[bytes], timestamp_ms: int) -> None:
        """Take packets."""
        self.packets += len(packets)


class CountingThreads(ThreadPoolExecutor):
    """One thread, and the number of calls."""

    hops = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:  # noqa: ANN401
        """Count the call."""
        self.hops += 1
        return super().submit(fn, *args, **kwargs)


async def answer(speech: bytes, piece: int, levels: VoiceLevels, threads: CountingThreads) -> None:
    """Speak one answer as a session does."""
    device = Device()
    pacer = Pacer(device, Counters(), device.output.frame_ms)
    audio = ReplyAudio(device, pacer, threads)
    leveller = Leveller(-20.0, levels.of("voice"), RATE)
    pacing = asyncio.create_task(pacer.run())
    for start in range(0, len(speech), piece):
        await audio.put(leveller.feed(speech[start : start + piece]), RATE)
    await audio.put(leveller.finish(), RATE)
    await audio.flush()
    pacer.finish()
    await pacing
    if device.packets != SENTENCE_MS // device.output.frame_ms:
        raise AssertionError(device.packets)


async def measure(answers: int, rounds: int, piece_ms: int) -> None:
    """Print a line for each round."""
    voice, levels, threads = CannedTTS(Delays()), VoiceLevels(), CountingThreads(1)
    await voice.start()
    async with closing(voice.synthesize(f"{SENTENCE_MS} ms")) as stream:
        speech = b"".join([pcm async for pcm in stream])
    piece = 2 * RATE * piece_ms // 1000
    for _ in range(rounds):
        threads.hops = 0
        process, thread = process_time(), thread_time()
        await asyncio.gather(*(answer(speech, piece, levels, threads) for _ in range(answers)))
        whole = (process_time() - process) * 1000 / answers
        loop = (thread_time() - thread) * 1000 / answers
        print(f"{whole:5.2f} ms, on the loop {loop:5.2f}, hops {threads.hops / answers:.1f}")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--answers", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--piece-ms", type=int, default=200, help="what the voice sends at a time")
    options = parser.parse_args()
    asyncio.run(measure(options.answers, options.rounds, options.piece_ms))


if __name__ == "__main__":
    main()

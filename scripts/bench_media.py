#!/usr/bin/env python3
"""What devices that play music cost beside devices that are spoken to, in real time.

    python scripts/bench_media.py [--devices 50] [--seconds 20]

Both go the same way, without sockets: pieces of PCM to the encoder, packets to the pacer. Music is
decoded before, of MP3 and of WAV, by a player of its own for each device; speech is there already
(the voice would come on top). Shown are milliseconds of processor time of the whole process for a
second of sound, the ratio, and the packets that came late.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import wave
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import process_time

import numpy as np

from vixio.audio.codec import OpusEncoder
from vixio.audio.loudness import Leveller, VoiceLevels
from vixio.core.chunk import AudioOut, Chunk
from vixio.core.metrics import Counters
from vixio.core.pacer import Pacer
from vixio.core.session.reply_audio import ReplyAudio
from vixio.core.streams import closing
from vixio.core.transport import AudioEncoder
from vixio.testing import ManualConnection
from vixio.tools.media.decoding import load
from vixio.tools.media.library import Item
from vixio.tools.media.player import Player
from vixio.tools.media.settings import MediaSettings
from vixio.tools.media.source import THREADS

CHIRP = Path(__file__).parents[1] / "tests/support/audio/chirp-44k-stereo.mp3"
VOICE_RATE = 22_050
"""Of eSpeak NG, so that both are resampled."""


class Device(ManualConnection):
    """Takes packets and forgets them."""

    def new_encoder(self) -> AudioEncoder:
        """Return the real one."""
        return OpusEncoder(self.output)

    async def send_audio(self, packets: Sequence[bytes], timestamp_ms: int) -> None:
        """Take packets."""


async def spoken(seconds: float) -> AsyncIterator[Chunk]:
    """Yield speech in the pieces in which a voice gives it."""
    random = np.random.default_rng(1)
    piece = (random.standard_normal(VOICE_RATE // 5) * 3_000).astype("<i2").tobytes()
    leveller = Leveller(-20.0, VoiceLevels().of("voice"), VOICE_RATE)
    for _ in range(int(seconds * 5)):
        yield AudioOut(1, leveller.feed(piece), VOICE_RATE)


async def device(
    chunks: AsyncIterator[Chunk], threads: ThreadPoolExecutor, counters: Counters
) -> None:
    """Play on one device until it is over."""
    pacer = Pacer(connection := Device(), counters, Device().output.frame_ms)
    audio = ReplyAudio(connection, pacer, threads)
    pacing = asyncio.create_task(pacer.run())
    async with closing(chunks) as given:
        async for chunk in given:
            if isinstance(chunk, AudioOut):
                await audio.put(chunk.pcm, chunk.sample_rate)
    await audio.flush()
    pacer.finish()
    await pacing


async def measured(
    make: Callable[[], AsyncIterator[Chunk]], devices: int, seconds: float
) -> tuple[float, int]:
    """Return milliseconds of processor time for a second of sound, and late packets."""
    counters = Counters()
    with ThreadPoolExecutor(1) as threads:
        begun = process_time()
        await asyncio.gather(*(device(make(), threads, counters) for _ in range(devices)))
        used = process_time() - begun
    return used * 1_000 / devices / seconds, counters.get("pacer.starved")


def files(folder: Path) -> tuple[Path, Path]:
    """Write an MP3 and a WAV."""
    song, recording = folder / "song.mp3", folder / "song.wav"
    song.write_bytes(CHIRP.read_bytes() * 2_000)
    with wave.open(str(recording), "wb") as file:
        file.setparams((2, 2, 44_100, 0, "NONE", ""))
        noise = np.random.default_rng(2).standard_normal(44_100 * 2) * 3_000
        for _ in range(700):
            file.writeframes(noise.astype("<i2").tobytes())
    return song, recording


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    load()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(THREADS) as threads:
        song, recording = files(Path(folder))

        def playing(place: Path) -> Callable[[], AsyncIterator[Chunk]]:
            async def chunks() -> AsyncIterator[Chunk]:
                player = Player(MediaSettings(), threads)
                player.queue([Item("Song", str(place))])
                given = 0.0
                async with closing(player.chunks(1, lambda: True)) as pieces:
                    async for chunk in pieces:
                        yield chunk
                        if isinstance(chunk, AudioOut):
                            given += len(chunk.pcm) / 2 / chunk.sample_rate
                            if given >= options.seconds:
                                return

            return chunks

        kinds = {
            "speech": lambda: spoken(options.seconds),
            "MP3": playing(song),
            "WAV": playing(recording),
        }
        first = 0.0
        for name, make in kinds.items():
            cost, late = await measured(make, options.devices, options.seconds)
            first = first or cost
            print(
                f"{name:7} {cost:6.2f} ms a second of sound, "
                f"{cost / first:4.2f} times, late: {late}"
            )


if __name__ == "__main__":
    asyncio.run(main())

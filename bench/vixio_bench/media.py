"""``vixio bench media``: what devices that play music cost beside devices that speak, in real time.

Each plays by the way of an answer, without sockets: pieces of PCM to the encoder, packets to the
pacer. Rows:

- ``ready``: speech that is there already;
- ``speech``: the same, spoken by the default voice (eSpeak NG) in its worker processes;
- ``mp3``, ``wav``: a file of 44,100 Hz in stereo, decoded by a player for each device.

Shown are milliseconds of processor time, of this process and those that it has started, for a
second of sound, gaps (packets that came more than 20 ms after their time), and the memory of all
processes when all devices play and at the end. Then a station begins, one that sends at the pace
of its sound: seconds from the tool's call to the first packet.

The status is 1 if there was a gap, if memory grew by more than 8 MB, if music costs more than
speech, or if radio takes more than 2 s.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import wave
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import process_time
from typing import Final

import numpy as np

from vixio.audio.codec import OpusEncoder
from vixio.audio.loudness import Leveller, VoiceLevels
from vixio.core.chunk import AudioOut, Chunk
from vixio.core.clock import now
from vixio.core.metrics import Counters
from vixio.core.pacer import Pacer
from vixio.core.processor_use import children_of
from vixio.core.session.reply_audio import ReplyAudio
from vixio.core.session.speech import Sound, SpeechHandle
from vixio.core.streams import closing
from vixio.core.tasks import cancel_and_wait
from vixio.core.tools.context import ToolContext
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.transport import AudioEncoder
from vixio.providers.espeak.provider import EspeakTTSProvider
from vixio.testing import ManualConnection
from vixio.tools.media.decoding import load
from vixio.tools.media.library import Item
from vixio.tools.media.player import Player
from vixio.tools.media.settings import MediaSettings
from vixio.tools.media.source import THREADS, MediaSource
from vixio_bench.load.usage import children_kb, cpu_seconds, resident_kb

CHIRP: Final = Path(__file__).with_name("chirp.mp3")
VOICE_RATE: Final = 22_050
"""Of eSpeak NG, so that all are resampled."""

ROWS: Final = ("ready", "speech", "mp3", "wav")

MAX_GROWTH_MB: Final = 8.0
MAX_START_S: Final = 2.0
STARTS: Final = 10

STORY: Final = (
    "Once upon a time there was a lighthouse at the end of a long road.",
    "Its keeper counted the ships of each night, and wrote their names into a book.",
    "One evening a boat without a name came by, and nobody was to be seen on it.",
    "So she took her lamp, went down to the water and called as loud as she could.",
)


class Device(ManualConnection):
    """Takes packets and forgets them."""

    first_at = 0.0
    """When the first of them came."""

    def new_encoder(self) -> AudioEncoder:
        """Return the real one."""
        return OpusEncoder(self.output)

    async def send_audio(self, packets: Sequence[bytes], timestamp_ms: int) -> None:
        """Take packets."""
        self.first_at = self.first_at or now()


@dataclass(frozen=True, slots=True)
class Cost:
    """What a row has cost. ``ms``: for a second of sound; ``begin``, ``end``: MB."""

    ms: float
    gaps: int
    begin: float
    end: float


async def ready() -> AsyncIterator[Chunk]:
    """Yield speech for ever, in pieces as a voice gives it."""
    random = np.random.default_rng(1)
    piece = (random.standard_normal(VOICE_RATE // 5) * 3_000).astype("<i2").tobytes()
    leveller = Leveller(-20.0, VoiceLevels().of("voice"), VOICE_RATE)
    while True:
        yield AudioOut(1, leveller.feed(piece), VOICE_RATE)


async def spoken(voice: EspeakTTSProvider) -> AsyncIterator[Chunk]:
    """Yield a story that a voice speaks for ever."""
    leveller = Leveller(-20.0, VoiceLevels().of("voice"), voice.sample_rate)
    while True:
        for sentence in STORY:
            async with closing(voice.synthesize(sentence, language="en")) as pieces:
                async for piece in pieces:
                    yield AudioOut(1, leveller.feed(piece), voice.sample_rate)


async def played(place: Path, threads: ThreadPoolExecutor) -> AsyncIterator[Chunk]:
    """Yield a file again and again, by a player."""
    player = Player(MediaSettings(), threads)
    while True:
        player.queue([Item("Song", str(place))])
        async with closing(player.chunks(1, lambda: True)) as chunks:
            async for chunk in chunks:
                yield chunk


async def play(
    device: Device,
    chunks: AsyncIterator[Chunk],
    seconds: float,
    threads: ThreadPoolExecutor,
    counters: Counters,
) -> None:
    """Play so many seconds on a device."""
    pacer = Pacer(device, counters, device.output.frame_ms)
    audio, given = ReplyAudio(device, pacer, threads), 0.0
    pacing = asyncio.create_task(pacer.run())
    try:
        async with closing(chunks) as pieces:
            async for chunk in pieces:
                if isinstance(chunk, AudioOut):
                    await audio.put(chunk.pcm, chunk.sample_rate)
                    given += len(chunk.pcm) / 2 / chunk.sample_rate
                    if given >= seconds:
                        break
        await audio.flush()
        pacer.finish()
        await pacing
    finally:
        await cancel_and_wait(pacing)


async def measured(make: Callable[[], AsyncIterator[Chunk]], devices: int, seconds: float) -> Cost:
    """Play on so many devices at once."""
    counters = Counters()
    with ThreadPoolExecutor(1) as threads:
        begun = _used()
        playing = asyncio.gather(
            *(play(Device(), make(), seconds, threads, counters) for _ in range(devices))
        )
        await asyncio.sleep(min(10.0, seconds / 4))
        begin = _memory()
        await asyncio.sleep(max(0.0, seconds * 0.95 - min(10.0, seconds / 4)))
        end = _memory()
        await playing
        ms = (_used() - begun) * 1_000 / devices / seconds
    return Cost(ms, counters.get("pacer.starved"), begin, end)


def _used() -> float:
    """Return the processor time (s) of this process and of those that it has started and run."""
    return process_time() + sum(map(cpu_seconds, children_of(os.getpid())))


def _memory() -> float:
    return (resident_kb(os.getpid()) + children_kb(os.getpid())) / 1_024


def _show(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def recording(folder: Path) -> tuple[Path, Path]:
    """Write ten minutes of MP3, and of WAV."""
    song, noise = folder / "song.mp3", folder / "noise.wav"
    song.write_bytes(CHIRP.read_bytes() * 2_000)
    with wave.open(str(noise), "wb") as file:
        file.setparams((2, 2, 44_100, 0, "NONE", ""))
        second = (np.random.default_rng(2).standard_normal(44_100 * 2) * 3_000).astype("<i2")
        for _ in range(600):
            file.writeframes(second.tobytes())
    return song, noise


async def _station(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send 16,000 bytes a second (128 kbit/s) of MP3, from the beginning of a connection on."""
    with suppress(ConnectionError):
        writer.write(b"ICY 200 OK\r\ncontent-type: audio/mpeg\r\n\r\n")
        data, begun, sent = CHIRP.read_bytes() * 20, now(), 0
        while sent < len(data):
            due = int((now() - begun) * 16_000) + 1_600
            writer.write(data[sent:due])
            sent = due
            await writer.drain()
            await asyncio.sleep(0.1)
    writer.close()


async def radio_starts() -> list[float]:
    """Return the seconds from a tool's call to the first packet of a station."""
    server = await asyncio.start_server(_station, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    source = MediaSource("media", MediaSettings(stations={"Radio Nina": address}))
    runtime, starts = ToolRuntime([source]), list[float]()
    await runtime.start()
    session = runtime.open("device", "bench")
    with ThreadPoolExecutor(1) as threads:
        for _ in range(STARTS):
            device, playing, begun = Device(), list[asyncio.Task[None]](), now()

            def begin(
                sound: Sound, device: Device = device, tasks: list[asyncio.Task[None]] = playing
            ) -> SpeechHandle:
                task = play(device, sound.chunks(1), 0.5, threads, Counters())
                tasks.append(asyncio.create_task(task))
                return SpeechHandle.of_sound(sound)

            session.play = begin
            await source.play_media(ToolContext("device", session=session), "radio nina")
            await playing[0]
            starts.append(device.first_at - begun)
    await session.close()
    await runtime.close()
    server.close()
    return starts


async def run(options: argparse.Namespace) -> int:
    """Measure and print; return the exit status."""
    load()
    voice, costs, bad = EspeakTTSProvider(), dict[str, Cost](), list[str]()
    await voice.start()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(THREADS) as threads:
        song, noise = recording(Path(folder))
        rows: dict[str, Callable[[], AsyncIterator[Chunk]]] = {
            "ready": ready,
            "speech": lambda: spoken(voice),
            "mp3": lambda: played(song, threads),
            "wav": lambda: played(noise, threads),
        }
        await measured(rows["ready"], options.devices, 2.0)  # libraries and memory are there then
        for name in options.only.split(","):
            cost = costs[name] = await measured(rows[name], options.devices, options.seconds)
            _show(
                f"{name:6} {cost.ms:6.2f} ms a second of sound, gaps: {cost.gaps}, "
                f"memory: {cost.begin:.1f} to {cost.end:.1f} MB"
            )
            if cost.gaps:
                bad.append(f"{name}: gaps")
            if cost.end - cost.begin > MAX_GROWTH_MB:
                bad.append(f"{name}: memory grew")
    await voice.close()
    for name in [each for each in ("mp3", "wav") if each in costs]:
        for other in [each for each in ("ready", "speech") if each in costs]:
            _show(f"{name} beside {other}: {costs[name].ms / costs[other].ms:.2f}")
        if "speech" in costs and costs[name].ms > costs["speech"].ms:
            bad.append(f"{name}: costs more than speech")
    starts = await radio_starts()
    _show(f"radio begins within {median(starts):.2f} s (median), {max(starts):.2f} s at most")
    if max(starts) > MAX_START_S:
        bad.append("radio: begins late")
    _show("missed: " + ", ".join(bad) if bad else "all as it must be")
    return 1 if bad else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="vixio bench media",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--devices", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each row; 600 is the test")
    parser.add_argument("--only", default=",".join(ROWS), metavar="ROW,…")
    options = parser.parse_args(arguments)
    if unknown := set(options.only.split(",")) - set(ROWS):
        parser.error(f"--only: no row {', '.join(sorted(unknown))}; there are {', '.join(ROWS)}")
    return asyncio.run(run(options))


if __name__ == "__main__":
    sys.exit(main())

"""Voice detectors on the same audio: what they cost, what they hear, what fools them.

    python scripts/compare_vads.py [--sentences 12] [--devices 32]

Sentences of the speech benchmark in its five held-out voices, with pink noise under them, and
noises without speech go through Opus and through the real VAD station with its default settings.
A detector that is not installed is left out, with the reason.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vixio.core.audio import BYTES_PER_SAMPLE, LISTEN_RATE
from vixio.core.chunk import AudioIn, VoiceEnded, VoiceStarted
from vixio.core.errors import ProviderUnavailable
from vixio.core.history import History
from vixio.core.metrics import Counters
from vixio.core.station import StationContext
from vixio.core.tools.toolset import ToolSet
from vixio.providers import registry
from vixio.providers.vad import VADProvider
from vixio.stations.vad import VADStation
from vixio.testing.voices import FRAME_SAMPLES, Voices, through_opus
from vixio_bench.speech_corpus import load_corpus

DETECTORS = ("silero", "ten")
SNRS_DB: tuple[float | None, ...] = (None, 20.0, 10.0, 5.0, 0.0)
"""Speech over noise, measured while the voice sounds; None: the corpus's own floor of -60 dB."""
NOISE_SECONDS = 60
NOISE_DB = -25.0
"""Level of what is no speech, below full scale: as loud as the voices."""
SPEECH_DB = -40.0
"""A window of the clean recording above this is speech."""
PACKET = FRAME_SAMPLES * BYTES_PER_SAMPLE
_WINDOW = LISTEN_RATE // 100

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Recording:
    """One sentence as the server gets it; ``begins``, ``ends``: of the voice, in seconds."""

    packets: list[bytes]
    begins: float
    ends: float


@dataclass(frozen=True, slots=True)
class Heard:
    """What the station made of one recording: seconds at which it said so."""

    started: list[float]
    ended: list[float]


def pink(size: int, generator: np.random.Generator) -> Floats:
    """Return noise that falls 3 dB an octave, as a room's does; RMS 1."""
    spectrum = np.fft.rfft(generator.standard_normal(size))
    spectrum /= np.sqrt(np.maximum(np.arange(len(spectrum)), 1))
    return _unit(np.fft.irfft(spectrum, size))


def white(size: int, generator: np.random.Generator) -> Floats:
    """Return a hiss."""
    return _unit(generator.standard_normal(size))


def hum(size: int, generator: np.random.Generator) -> Floats:
    """Return mains hum with its overtones: a power supply, a fan."""
    t = np.arange(size) / LISTEN_RATE
    tones = sum(np.sin(2 * np.pi * 50 * n * t + n) / n for n in range(1, 20))
    return _unit(tones + 0.1 * generator.standard_normal(size))


def knocks(size: int, generator: np.random.Generator) -> Floats:
    """Return short knocks, about five a second: a keyboard, dishes."""
    sound = np.zeros(size)
    fading = np.exp(-np.arange(800) / 90)
    for start in generator.integers(0, size - 800, size * 5 // LISTEN_RATE):
        sound[start : start + 800] += fading * generator.standard_normal(800)
    return _unit(sound)


def chords(size: int, generator: np.random.Generator) -> Floats:
    """Return chords of three plucked strings, two a second: music of a simple kind."""
    sound = np.zeros(size)
    t = np.arange(LISTEN_RATE) / LISTEN_RATE
    for start in range(0, size - LISTEN_RATE, LISTEN_RATE // 2):
        for pitch in generator.choice([196, 247, 262, 294, 330, 392, 440], 3, replace=False):
            string = sum(np.sin(2 * np.pi * pitch * n * t) / n**1.5 for n in range(1, 8))
            sound[start : start + LISTEN_RATE] += string * np.exp(-3 * t)
    return _unit(sound)


NOISES: dict[str, Callable[[int, np.random.Generator], Floats]] = {
    "hiss": white,
    "room": pink,
    "hum": hum,
    "knocks": knocks,
    "chords": chords,
}


def _unit(sound: NDArray[np.floating]) -> Floats:
    return np.asarray(sound / np.sqrt(np.mean(np.square(sound))), np.float32)


def _level(decibel: float) -> float:
    return float(10 ** (decibel / 20))


def sentences(number: int) -> Iterator[tuple[Floats, float, float]]:
    """Say ``number`` sentences in each voice; yield the sound and where the voice is in it."""
    voices = Voices()
    pause = np.zeros(LISTEN_RATE, np.float32)
    for speaker in load_corpus("held-out").speakers:
        for seed, text in enumerate(load_corpus("held-out").free[:number]):
            pcm = b"".join(voices.say(text, speaker, seed))
            sound = np.frombuffer(pcm, "<i2").astype(np.float32) / np.float32(32768)
            sound = np.concatenate([pause, sound, pause], dtype=np.float32)
            cut = sound[: len(sound) // _WINDOW * _WINDOW].reshape(-1, _WINDOW)
            loud = np.flatnonzero(np.sqrt(np.mean(cut**2, axis=1)) > _level(SPEECH_DB))
            begins, ends = int(loud[0]) * _WINDOW, (int(loud[-1]) + 1) * _WINDOW
            yield sound, begins / LISTEN_RATE, ends / LISTEN_RATE


def recordings(clean: list[tuple[Floats, float, float]], snr: float | None) -> list[Recording]:
    """Lay pink noise under the sentences, ``snr`` dB below the voice, and send them."""
    made: list[Recording] = []
    for number, (sound, begins, ends) in enumerate(clean):
        mixed = sound
        if snr is not None:
            voice = sound[int(begins * LISTEN_RATE) : int(ends * LISTEN_RATE)]
            gain = float(np.sqrt(np.mean(voice**2))) * _level(-snr)
            mixed = sound + gain * pink(len(sound), np.random.default_rng(number))
        made.append(Recording(list(through_opus(mixed)), begins, ends))
    return made


async def listen(vad: VADProvider, packets: list[bytes]) -> Heard:
    """Run one device's packets through the station."""
    station = VADStation(vad)
    context = StationContext("", "", History(), ToolSet(), Counters(), lambda work: work.close())

    async def nothing(_: object) -> None:
        return None

    station.bind(context, nothing)
    heard, now = Heard([], []), 0.0
    for packet in packets:
        now += FRAME_SAMPLES / LISTEN_RATE
        for chunk in await station.feed(AudioIn(packet, now), now):
            if isinstance(chunk, VoiceStarted):
                heard.started.append(now)
            elif isinstance(chunk, VoiceEnded):
                heard.ended.append(now)
    await station.close()
    return heard


async def cost(vad: VADProvider, packets: list[bytes], devices: int) -> float:
    """Return the process's CPU seconds for each second of audio, ``devices`` at once."""
    before = time.process_time()
    await asyncio.gather(*(listen(vad, packets) for _ in range(devices)))
    seconds = devices * len(packets) * FRAME_SAMPLES / LISTEN_RATE
    return (time.process_time() - before) / seconds


async def speech_line(vad: VADProvider, made: list[Recording]) -> str:
    """Return how many sentences were found, and how late beginning and end were told."""
    onsets: list[float] = []
    offsets: list[float] = []
    early = missed = 0
    for each in made:
        heard = await listen(vad, each.packets)
        # A packet is 60 ms: what is told up to that before the voice begins came with its start.
        in_time = [at for at in heard.started if at >= each.begins - 0.06]
        early += len(heard.started) - len(in_time)
        if not in_time or in_time[0] > each.ends:
            missed += 1
            continue
        onsets.append(in_time[0] - each.begins)
        if heard.ended:
            offsets.append(heard.ended[-1] - each.ends)
    found = len(made) - missed
    return (
        f"{found}/{len(made)} | {early} | {_ms(onsets, 0.5)} ({_ms(onsets, 0.95)})"
        f" | {_ms(offsets, 0.5)} ({_ms(offsets, 0.95)})"
    )


def _ms(values: list[float], share: float) -> str:
    if len(values) < 2:
        return "–"
    if share == 0.5:
        return f"{statistics.median(values) * 1000:.0f}"
    return f"{statistics.quantiles(values, n=20)[-1] * 1000:.0f}"


async def noise_line(vad: VADProvider) -> str:
    """Return the false beginnings a minute of each noise."""
    told: list[str] = []
    for make in NOISES.values():
        size = NOISE_SECONDS * LISTEN_RATE
        sound = make(size, np.random.default_rng(1)) * np.float32(_level(NOISE_DB))
        heard = await listen(vad, list(through_opus(sound)))
        told.append(f"{len(heard.started) * 60 / NOISE_SECONDS:.0f}")
    return " | ".join(told)


async def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sentences", type=int, default=12, help="in each of five voices")
    parser.add_argument("--devices", type=int, default=32, help="at once, for the cost")
    options = parser.parse_args()
    logging.getLogger("vixio").setLevel(logging.CRITICAL)
    vads: list[VADProvider] = []
    for name in DETECTORS:
        factory = registry.resolve("vad", name)
        vad = factory.create(factory.settings_model())
        try:
            await vad.start()
        except ProviderUnavailable as missing:
            print(f"left out: {missing}")
            continue
        vads.append(vad)
    clean = list(sentences(options.sentences))
    quiet = recordings(clean, None)
    talk = [packet for each in quiet for packet in each.packets]
    print(f"\n| CPU ms a second of audio | alone | {options.devices} devices at once |")
    print("|---|---|---|")
    for vad in vads:
        alone = await cost(vad, talk, 1)
        many = await cost(vad, talk[:500], options.devices)
        print(f"| {vad.name} | {alone * 1000:.2f} | {many * 1000:.2f} |")
    print("\n| speech over noise | | found | early | onset ms (p95) | end ms (p95) |")
    print("|---|---|---|---|---|---|")
    for snr in SNRS_DB:
        made = quiet if snr is None else recordings(clean, snr)
        for vad in vads:
            label = "quiet" if snr is None else f"{snr:g} dB"
            print(f"| {label} | {vad.name} | {await speech_line(vad, made)} |")
    print(f"\n| false beginnings a minute | {' | '.join(NOISES)} |")
    print("|---|" + "---|" * len(NOISES))
    for vad in vads:
        print(f"| {vad.name} | {await noise_line(vad)} |")
    for vad in vads:
        await vad.close()


if __name__ == "__main__":
    asyncio.run(main())

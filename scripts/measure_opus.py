#!/usr/bin/env python3
"""What Opus settings cost, how large their packets are and how close they come to the original.

    pip install pesq visqol-python[lattice,accel]    # the scores; not needed with --cost-only
    python scripts/measure_opus.py [WAV ...] [--rate 24000] [--settings voip:0:auto lowdelay:0:auto]

Speech is taken from WAV files (mono, 16 bit, any rate) or made by eSpeak NG in four voices and two
languages. It is levelled and encoded as for a device, in packets of 60 ms, and decoded at the same
rate. A setting is ``application:complexity:bitrate``. Shown are:

- µs of processor time for a packet, encoding (with the calls from Python) and decoding, the best of
  several runs; kbit/s of the packets alone;
- PESQ: ITU-T P.862.2 (wide-band, up to 8 kHz), 1 to 4.64;
- ViSQOL: speech mode (up to 8 kHz) and audio mode (up to 12 kHz at a rate of 24 kHz), 1 to 5.

Scores are the mean over the recordings; differences below 0.1 cannot be heard.
"""

from __future__ import annotations

import argparse
import wave
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from time import process_time
from typing import NamedTuple, cast, get_args

import numpy as np
import soxr
from numpy.typing import NDArray

from vixio.audio.codec import Application, OpusEncoder
from vixio.audio.loudness import Leveller, VoiceLevel
from vixio.core.audio import AudioFormat, pcm_seconds
from vixio.providers.espeak_process.library import load_espeak
from vixio.providers.espeak_process.messages import Voice

Samples = NDArray[np.int16]

FRAME_MS = 60
RUNS = 5
SETTINGS = (
    *(f"voip:{complexity}:auto" for complexity in (0, 2, 5, 8, 10)),
    *(f"audio:{complexity}:32000" for complexity in (0, 5, 10)),
    *(f"lowdelay:{complexity}:32000" for complexity in (0, 2, 5, 10)),
    *(f"{setting}:{bitrate}" for bitrate in (16_000, 24_000, 32_000, 48_000, 64_000)
      for setting in ("voip:0", "voip:5", "lowdelay:0")),
)  # fmt: skip

SPEECH = (
    ("en-us", "The weather tomorrow will be mild and mostly sunny, with a light wind."),
    ("en-us+f3", "She set the kitchen lamp to thirty percent; the fish shop shuts at six."),
    ("en-gb-x-rp+m3", "In the evening clouds come in, and there may be a little rain."),
    ("cmn", "明天天气晴朗，有微风。客厅的灯已经调到百分之三十。"),
)


class Setting(NamedTuple):
    """One line of the table."""

    application: Application
    complexity: int
    bitrate: int | None

    def encoder(self, output: AudioFormat) -> OpusEncoder:
        """Return an encoder as a reply has one."""
        return OpusEncoder(output, self.complexity, self.bitrate, self.application)


class Scores:
    """PESQ and ViSQOL of decoded speech."""

    def __init__(self) -> None:
        from pesq import pesq
        from visqol import VisqolApi

        self._pesq = pesq
        self._speech, self._audio = VisqolApi(), VisqolApi()
        self._speech.create(mode="speech")
        self._audio.create(mode="audio")

    def of(self, original: Samples, decoded: Samples, rate: int) -> tuple[float, float, float]:
        """Return PESQ, ViSQOL for speech and ViSQOL for audio. ``rate`` in Hz."""
        narrow = [soxr.resample(each, rate, 16_000) for each in (original, decoded)]
        wide = [soxr.resample(each / 32_768, rate, 48_000) for each in (original, decoded)]
        speech = self._speech.measure_from_arrays(
            *(each / 32_768 for each in narrow), sample_rate=16_000
        )
        audio = self._audio.measure_from_arrays(*wide, sample_rate=48_000)
        return self._pesq(16_000, *narrow, "wb"), speech.moslqo, audio.moslqo


def main() -> None:
    """Print a line for each setting."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wav", type=Path, nargs="*")
    parser.add_argument("--rate", type=int, default=24_000, help="of the packets, Hz")
    parser.add_argument("--settings", type=setting, nargs="+", default=[*map(setting, SETTINGS)])
    parser.add_argument("--cost-only", action="store_true", help="no scores")
    options = parser.parse_args()
    output = AudioFormat(options.rate, FRAME_MS)
    speech = [levelled(*one, output) for one in (recorded(options.wav) or made())]
    scores = None if options.cost_only else Scores()
    seconds = sum(pcm_seconds(pcm, output.sample_rate) for pcm in speech)
    print(f"{len(speech)} recordings, {seconds:.1f} s, at {output.sample_rate} Hz")
    print("application complexity  bit/s | encode decode µs  kbit/s | PESQ ViSQOL: speech audio")
    for each in options.settings:
        print(line(each, speech, output, scores), flush=True)


def setting(text: str) -> Setting:
    """Parse ``application:complexity:bitrate``."""
    application, complexity, bitrate = text.split(":")
    if application not in get_args(Application):
        raise argparse.ArgumentTypeError(f"no application {application!r}")
    return Setting(
        cast("Application", application),
        int(complexity),
        None if bitrate == "auto" else int(bitrate),
    )


def recorded(files: list[Path]) -> list[tuple[bytes, int]]:
    """Return PCM and rate of each file."""
    speech = []
    for file in files:
        with wave.open(str(file)) as reader:
            if (reader.getnchannels(), reader.getsampwidth()) != (1, 2):
                raise SystemExit(f"{file}: not mono with 16 bits")
            speech.append((reader.readframes(reader.getnframes()), reader.getframerate()))
    return speech


def made() -> list[tuple[bytes, int]]:
    """Return PCM and rate of eSpeak NG's speech."""
    library = load_espeak()
    speech = []
    for voice, text in SPEECH:
        pcm = bytearray()

        def keep(chunk: bytes, pcm: bytearray = pcm) -> bool:
            pcm.extend(chunk)
            return True

        if not library.set_voice(Voice(voice, 165, 50, 100)):
            raise SystemExit(f"eSpeak NG has no voice {voice!r}")
        library.synthesize(text, keep, pause_after=True)
        speech.append((bytes(pcm), library.sample_rate))
    return speech


def levelled(pcm: bytes, rate: int, output: AudioFormat) -> bytes:
    """Return it as the voice station gives it, resampled to the device's rate, whole packets."""
    leveller = Leveller(-20.0, VoiceLevel(), rate)
    samples = np.frombuffer(leveller.feed(pcm) + leveller.finish(), "<i2")
    resampled = bytes(soxr.resample(samples, rate, output.sample_rate).astype("<i2").tobytes())
    return resampled + bytes(-len(resampled) % output.frame_bytes + output.frame_bytes)


def line(each: Setting, speech: list[bytes], output: AudioFormat, scores: Scores | None) -> str:
    """Measure one setting."""
    encoding, decoding, size, count = 0.0, 0.0, 0, 0
    found: list[tuple[float, float, float]] = []
    for pcm in speech:
        packets, fastest = fastest_encoding(each, pcm, output)
        encoding += fastest
        began = process_time()
        decoded = np.concatenate([*decode(packets, output.sample_rate)])
        decoding += process_time() - began
        size += sum(map(len, packets))
        count += len(packets)
        if scores is not None:
            found.append(scores.of(np.frombuffer(pcm, "<i2"), decoded, output.sample_rate))
    kbits = size * 8 / (count * FRAME_MS)
    quality = "  ".join(f"{mean(column):5.2f}" for column in zip(*found, strict=True))
    return (
        f"{each.application:11} {each.complexity:10} {each.bitrate or 'auto':>6} | "
        f"{encoding / count * 1e6:6.0f} {decoding / count * 1e6:6.0f}    {kbits:6.1f} | {quality}"
    )


def fastest_encoding(each: Setting, pcm: bytes, output: AudioFormat) -> tuple[list[bytes], float]:
    """Return the packets and the processor time of the fastest run, in seconds."""
    packets, fastest = list[bytes](), float("inf")
    for _ in range(RUNS):
        encoder = each.encoder(output)
        began = process_time()
        packets = encoder.encode(pcm, output.sample_rate)
        fastest = min(fastest, process_time() - began)
        encoder.close()
    return packets, fastest


def decode(packets: list[bytes], rate: int) -> Iterator[Samples]:
    """Decode at the stream's own rate, as a device does."""
    import opuslib

    decoder = opuslib.Decoder(rate, 1)
    for packet in packets:
        yield np.frombuffer(decoder.decode(packet, rate * FRAME_MS // 1000), "<i2")


if __name__ == "__main__":
    main()

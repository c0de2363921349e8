"""What a device plays is what the voice spoke: the whole of it, in order, and nothing else."""

from __future__ import annotations

import math
import wave
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from firmware_test_client import SimulatedDevice
from tests.e2e.doubles import WaveformASR
from tests.e2e.harness import serving, settings
from vixio.cli.diagnostics.say import say, sentences
from vixio.core.audio import pcm_seconds
from vixio.providers.espeak.provider import EspeakTTSProvider
from vixio.stations.tts import SENTENCE_PAUSE_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Samples = NDArray[np.float64]

pytestmark = pytest.mark.slow

TEXT = "The kettle is warm. It has three minutes to go. Then the tea is ready."

FRAME_S = 0.06

RATE = 24_000
"""Hz, of what devices get."""


def resampled(pcm: Samples, rate: int, to: int) -> Samples:
    """Return the same sound at another rate, by its spectrum."""
    length = round(len(pcm) * to / rate)
    before = np.fft.rfft(pcm)
    after = np.zeros(length // 2 + 1, complex)
    common = min(len(before), len(after))
    after[:common] = before[:common]
    found: Samples = np.fft.irfft(after, length) * (length / len(pcm))
    return found


def found_at(piece: Samples, whole: Samples) -> tuple[int, float]:
    """Return where ``piece`` is in ``whole``, and how well the two correlate there (1: alike)."""
    size = len(piece) + len(whole)
    spectrum = np.fft.rfft(whole, size) * np.conj(np.fft.rfft(piece, size))
    place = int(np.argmax(np.fft.irfft(spectrum, size)[: len(whole)]))
    there = whole[place : place + len(piece)]
    alike = piece[: len(there)]
    return place, float(alike @ there / math.sqrt((alike @ alike) * (there @ there)))


class Voice(EspeakTTSProvider):
    """eSpeak NG, whose PCM is kept: it never speaks the same words twice in the same way."""

    def __init__(self) -> None:
        super().__init__()
        self.spoken: list[bytes] = []

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        self.spoken.append(b"")
        async for pcm in super().synthesize(text, language=language):
            self.spoken[-1] += pcm
            yield pcm


@pytest.mark.parametrize("loudness", [None, -20])
async def test_a_device_plays_what_the_voice_spoke(loudness: int | None) -> None:
    """Each sentence ends with a whole frame; levelling changes no more than the gain."""
    voice = Voice()
    config = settings(output={"loudness": loudness})
    async with (
        serving(config, asr=WaveformASR({}), tts=voice) as running,
        SimulatedDevice(running.device(mode="manual")) as device,
    ):
        session = running.session(device.config.device_id)
        assert session is not None
        session.say(TEXT)
        await device.wait_for_reply()
        heard = device.records.heard
    assert {frame.rate for frame in heard} == {RATE}
    served = np.frombuffer(b"".join(frame.pcm for frame in heard), "<i2").astype(float)

    behind, frames = 0.0, 0
    for pcm in voice.spoken:
        spoken = resampled(np.frombuffer(pcm, "<i2").astype(float), voice.sample_rate, RATE)
        place, alike = found_at(spoken, served)
        assert alike > 0.97
        rest = place / RATE - behind
        assert not frames or 0.0 < rest < SENTENCE_PAUSE_S + FRAME_S
        behind = (place + len(spoken)) / RATE
        frames += math.ceil((len(spoken) / RATE + (SENTENCE_PAUSE_S if frames else 0.0)) / FRAME_S)
    assert len(voice.spoken) == 3
    assert behind <= len(served) / RATE + 0.005  # the end of the last one, too
    assert len(heard) <= frames + 3  # the coder's delay may fill one more each


async def test_a_file_has_what_a_server_would_say(tmp_path: Path) -> None:
    """With the same pauses, and nothing between the voice and the file."""
    wav = tmp_path / "said.wav"
    config = settings(tts={"name": "espeak"})
    await say(config, TEXT, wav, language="en", progress=lambda _: None)
    voice, length = Voice(), 0.0
    await voice.start()
    for sentence in sentences(TEXT, "en"):
        async for pcm in voice.synthesize(sentence, language="en"):
            length += pcm_seconds(pcm, voice.sample_rate)
    await voice.close()
    with wave.open(str(wav)) as file:
        written = file.getnframes() / file.getframerate()
    assert written == pytest.approx(length + 2 * SENTENCE_PAUSE_S, abs=0.05)


class Noting(Voice):
    """Keeps the words as well."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        self.words.append(text)
        async for pcm in super().synthesize(text, language=language):
            yield pcm


@pytest.mark.parametrize(
    ("normalise", "words"), [(True, "Tea at 8 oh 5."), (False, "Tea at 8:05.")]
)
async def test_numbers_are_spoken_as_they_are_read(normalise: bool, words: str) -> None:
    voice = Noting()
    config = settings(output={"normalise": normalise})
    async with (
        serving(config, asr=WaveformASR({}), tts=voice) as running,
        SimulatedDevice(running.device(mode="manual")) as device,
    ):
        session = running.session(device.config.device_id)
        assert session is not None
        session.say("Tea at 8:05.")
        reply = await device.wait_for_reply()
    assert voice.words == [words]
    assert reply.text == "Tea at 8:05."

"""The TTS station: every voice at the same loudness, or unchanged."""

from __future__ import annotations

from collections.abc import AsyncIterator

import numpy as np
import pytest

from vixio.audio.loudness import VoiceLevels
from vixio.core.chunk import AudioOut, Chunk, Sentence
from vixio.core.history import History
from vixio.core.metrics import Counters
from vixio.core.station import StationContext
from vixio.core.tools.toolset import ToolSet
from vixio.providers.tts import TTSProvider
from vixio.stations.tts import TTSStation

RATE = 16_000


class Tone(TTSProvider):
    """Speaks every sentence as one long piece of a tone."""

    sample_rate = RATE

    def __init__(self, name: str, amplitude: float) -> None:
        self.name = name
        self.amplitude = amplitude

    async def start(self) -> None:
        pass

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        wave = self.amplitude * np.sin(2 * np.pi * 200 / RATE * np.arange(3 * RATE))
        yield b""
        yield wave.astype("<i2").tobytes()

    async def close(self) -> None:
        pass


async def pieces(voice: TTSProvider, loudness: float | None, levels: VoiceLevels) -> list[bytes]:
    station = TTSStation(voice, loudness=loudness, levels=levels)
    context = StationContext(
        "s", "d", History(), ToolSet(), Counters(), lambda work: work.close(), language="en"
    )

    async def emit(chunks: object) -> None:
        pass

    async def sentences() -> AsyncIterator[Chunk]:
        yield Sentence(1, "One.", "One.")

    station.bind(context, emit)
    return [chunk.pcm async for chunk in station.run(sentences()) if isinstance(chunk, AudioOut)]


def rms(spoken: list[bytes]) -> float:
    samples = np.frombuffer(b"".join(spoken), dtype="<i2").astype(np.float64)
    assert len(samples) == 3 * RATE
    return float(20 * np.log10(np.sqrt((samples**2).mean()) / 32_768))


@pytest.mark.parametrize("amplitude", [2_000.0, 20_000.0])
async def test_every_voice_at_the_same_loudness(amplitude: float) -> None:
    levels = VoiceLevels()
    spoken = await pieces(Tone("a", amplitude), -18.0, levels)
    assert len(spoken) >= 3  # a long piece is taken in parts
    assert rms(spoken) == pytest.approx(-18.0, abs=1.0)
    assert levels.of("a/en").seconds > 2.5


async def test_without_a_target_the_loudness_is_unchanged() -> None:
    spoken = await pieces(Tone("a", 20_000.0), None, VoiceLevels())
    assert len(spoken) == 1
    assert rms(spoken) == pytest.approx(20 * np.log10(20_000 / 32_768 / np.sqrt(2)), abs=0.01)

"""Chains whose first provider is broken: they pass the suites as if it were not there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from vixio.core.errors import ProviderError
from vixio.providers.chain.health import RestSettings
from vixio.providers.chain.tts import ChainTTSProvider
from vixio.providers.chain.vad import ChainVADProvider
from vixio.providers.espeak.provider import EspeakTTSProvider
from vixio.providers.silero_vad.provider import SileroVADProvider
from vixio.providers.tts import TTSProvider
from vixio.providers.vad import VADProvider, VADStream

NEVER_RESTS = RestSettings(first=0.0, longest=0.0, unusable=0.0)
"""So that the broken one is asked, and fails, at every call of a test."""


class _BrokenStream(VADStream):
    async def process(self, pcm: bytes) -> Sequence[float]:
        raise ProviderError("broken", "out of order")

    def reset(self) -> None:
        pass

    def close(self) -> None:
        pass


class BrokenVAD(VADProvider):
    """Starts, and then fails whatever it is given; its windows are shorter."""

    name = "broken"
    window_samples = 256

    async def start(self) -> None:
        pass

    def open(self) -> VADStream:
        return _BrokenStream()

    async def close(self) -> None:
        pass


class BrokenTTS(EspeakTTSProvider):
    """Starts, and then fails before its first piece."""

    name = "broken"

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        if text:
            raise ProviderError(self.name, "out of order")
        yield b""


@asynccontextmanager
async def chained_vad() -> AsyncIterator[VADProvider]:
    yield ChainVADProvider([BrokenVAD(), SileroVADProvider()], NEVER_RESTS)


@asynccontextmanager
async def chained_tts() -> AsyncIterator[TTSProvider]:
    yield ChainTTSProvider([BrokenTTS(), EspeakTTSProvider()], rest=NEVER_RESTS)

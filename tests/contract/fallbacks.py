"""Fallback lists whose first provider is broken: they pass the suites of the second."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.contract.humming import HummingTTS
from vixio.core.errors import ProviderError
from vixio.providers.asr import ASRProvider, ASRStream, Recognition, SpeechHints
from vixio.providers.fallback.asr import FallbackASRProvider
from vixio.providers.fallback.circuit_breaker import BreakerSettings
from vixio.providers.fallback.tts import FallbackTTSProvider
from vixio.providers.fallback.vision import FallbackVisionProvider
from vixio.providers.tts import TTSProvider
from vixio.providers.vision import Photo, VisionProvider
from vixio.testing.contract.asr import ASRCreator, Mishap
from vixio.testing.contract.base import Creator

NEVER_OPEN = BreakerSettings(first=0.0, longest=0.0, unusable=0.0)
"""So that the broken one is asked, and fails, at every call of a test."""


class BrokenTTS(HummingTTS):
    """Starts, and then fails before its first piece."""

    name = "broken"

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        if text:
            raise ProviderError(self.name, "out of order")
        yield b""


class _BrokenASRStream(ASRStream):
    async def feed(self, pcm: bytes) -> None:
        pass

    async def finish(self) -> Recognition:
        raise ProviderError("broken", "out of order")

    async def close(self) -> None:
        pass


class BrokenASR(ASRProvider):
    """Takes the audio, and then has no words for it."""

    name = "broken"

    async def start(self) -> None:
        pass

    def open(self, hints: SpeechHints) -> ASRStream:
        return _BrokenASRStream()

    async def close(self) -> None:
        pass


class BrokenVision(VisionProvider):
    """Sees nothing."""

    name = "broken"

    async def start(self) -> None:
        pass

    async def explain(self, photo: Photo, question: str, *, language: str = "") -> str:
        raise ProviderError(self.name, "out of order")

    async def close(self) -> None:
        pass


def fallback_asr(sound: ASRCreator) -> ASRCreator:
    @asynccontextmanager
    async def made(mishap: Mishap | None) -> AsyncIterator[ASRProvider]:
        async with sound(mishap) as asr:
            yield FallbackASRProvider([BrokenASR(), asr], breaker=NEVER_OPEN)

    return made


def fallback_vision(sound: Creator[VisionProvider]) -> Creator[VisionProvider]:
    @asynccontextmanager
    async def made() -> AsyncIterator[VisionProvider]:
        async with sound() as vision:
            yield FallbackVisionProvider([BrokenVision(), vision], breaker=NEVER_OPEN)

    return made


@asynccontextmanager
async def fallback_tts() -> AsyncIterator[TTSProvider]:
    yield FallbackTTSProvider([BrokenTTS(), HummingTTS()], breaker=NEVER_OPEN)

"""Chains whose first provider is broken: they pass the suites as if it were not there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from vixio.core.errors import ProviderError
from vixio.providers.asr import ASRProvider, ASRStream, Recognition, SpeechHints
from vixio.providers.chain.asr import ChainASRProvider
from vixio.providers.chain.health import RestSettings
from vixio.providers.chain.tts import ChainTTSProvider
from vixio.providers.chain.vad import ChainVADProvider
from vixio.providers.chain.vision import ChainVisionProvider
from vixio.providers.espeak.provider import EspeakTTSProvider
from vixio.providers.silero_vad.provider import SileroVADProvider
from vixio.providers.tts import TTSProvider
from vixio.providers.vad import VADProvider, VADStream
from vixio.providers.vision import Photo, VisionProvider
from vixio.testing.contract.asr import ASRCreator, Mishap
from vixio.testing.contract.base import Creator

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


class BrokenEyes(VisionProvider):
    """Sees nothing."""

    name = "broken"

    async def start(self) -> None:
        pass

    async def explain(self, photo: Photo, question: str, *, language: str = "") -> str:
        raise ProviderError(self.name, "out of order")

    async def close(self) -> None:
        pass


def chained_asr(sound: ASRCreator) -> ASRCreator:
    @asynccontextmanager
    async def made(mishap: Mishap | None) -> AsyncIterator[ASRProvider]:
        async with sound(mishap) as asr:
            yield ChainASRProvider([BrokenASR(), asr], rest=NEVER_RESTS)

    return made


def chained_eyes(sound: Creator[VisionProvider]) -> Creator[VisionProvider]:
    @asynccontextmanager
    async def made() -> AsyncIterator[VisionProvider]:
        async with sound() as eyes:
            yield ChainVisionProvider([BrokenEyes(), eyes], rest=NEVER_RESTS)

    return made


@asynccontextmanager
async def chained_vad() -> AsyncIterator[VADProvider]:
    yield ChainVADProvider([BrokenVAD(), SileroVADProvider()], NEVER_RESTS)


@asynccontextmanager
async def chained_tts() -> AsyncIterator[TTSProvider]:
    yield ChainTTSProvider([BrokenTTS(), EspeakTTSProvider()], rest=NEVER_RESTS)

"""The implementations that pass the contract suites. A new provider adds one line to a table.

An entry is an async context manager that yields the provider unstarted: around it stands whatever
it needs, as the local server that speaks a cloud vendor's protocol.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from tests.contract.fallbacks import fallback_tts, fallback_vision
from tests.contract.vision_server import VisionServer
from tests.support.cluster_members import members  # noqa: F401 - a fixture of two suites
from tests.support.edge_server import edge_server
from tests.support.speech_server import SpeechServer
from tests.vendors import dashscope, minimax, own_voices, volcengine, xunfei
from vixio.providers.edge_tts.provider import EdgeTTSProvider
from vixio.providers.espeak.provider import EspeakSettings, EspeakTTSProvider
from vixio.providers.openai_speech.tts import OpenAITTSProvider, OpenAITTSSettings
from vixio.providers.openai_vision.provider import OpenAIVisionProvider, OpenAIVisionSettings
from vixio.providers.silero_vad.provider import SileroVADProvider
from vixio.providers.tts import TTSProvider
from vixio.providers.vad import VADProvider
from vixio.providers.vision import VisionProvider
from vixio.testing.contract.base import Creator
from vixio.testing.contract.leftovers import nothing_left


@asynccontextmanager
async def silero() -> AsyncIterator[VADProvider]:
    yield SileroVADProvider()


@asynccontextmanager
async def espeak() -> AsyncIterator[TTSProvider]:
    yield EspeakTTSProvider(EspeakSettings(rate=300))


@asynccontextmanager
async def openai_vision() -> AsyncIterator[VisionProvider]:
    async with VisionServer() as server:
        yield OpenAIVisionProvider(
            OpenAIVisionSettings(model="vision-model", base_url=server.base_url, retries=0)
        )


def openai_voice(response_format: str) -> Creator[TTSProvider]:
    @asynccontextmanager
    async def made() -> AsyncIterator[TTSProvider]:
        async with SpeechServer() as server:
            settings = {"base_url": server.base_url, "response_format": response_format}
            yield OpenAITTSProvider(OpenAITTSSettings.model_validate(settings))

    return made


@asynccontextmanager
async def edge() -> AsyncIterator[TTSProvider]:
    async with edge_server():
        yield EdgeTTSProvider()


VADS: dict[str, Callable[[], AbstractAsyncContextManager[VADProvider]]] = {
    "silero": silero,
}
TTSES: dict[str, Callable[[], AbstractAsyncContextManager[TTSProvider]]] = {
    "fallback from broken, humming": fallback_tts,
    "edge": edge,
    "dashscope": dashscope.tts("cosyvoice-v3-flash"),
    "dashscope-qwen": dashscope.tts(dashscope.QWEN_TTS),
    "espeak": espeak,
    "http-cosyvoice": own_voices.tts("cosyvoice"),
    "http-gpt-sovits": own_voices.tts("gpt-sovits"),
    "minimax": minimax.tts,
    "openai": openai_voice("pcm"),
    "openai-mp3": openai_voice("mp3"),
    "volcengine": volcengine.tts("bidirectional"),
    "volcengine-http": volcengine.tts("http"),
    "xunfei": xunfei.tts,
}
VISIONS: dict[str, Callable[[], AbstractAsyncContextManager[VisionProvider]]] = {
    "fallback from broken, openai": fallback_vision(openai_vision),
    "openai": openai_vision,
}


@pytest.fixture(autouse=True)
def nothing_left_running() -> Iterator[None]:
    """Whatever a test does, when it is over its provider's threads are."""
    with nothing_left():
        yield


@pytest.fixture(params=sorted(VADS))
def vad_creator(request: pytest.FixtureRequest) -> Creator[VADProvider]:
    return VADS[request.param]


@pytest.fixture(params=sorted(TTSES))
def tts_creator(request: pytest.FixtureRequest) -> Creator[TTSProvider]:
    return TTSES[request.param]


@pytest.fixture(params=sorted(VISIONS))
def vision_creator(request: pytest.FixtureRequest) -> Creator[VisionProvider]:
    return VISIONS[request.param]

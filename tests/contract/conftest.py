"""The implementations that pass the contract suites. A new provider adds one line to a table.

An entry is an async context manager that yields the provider unstarted: around it stands whatever
it needs, as the local server that speaks a cloud vendor's protocol.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from tests.contract.speech import spoken
from vixio.core.errors import ProviderError
from vixio.providers.chain.health import RestSettings
from vixio.providers.chain.tts import ChainTTSProvider
from vixio.providers.chain.vad import ChainVADProvider
from vixio.providers.espeak.provider import EspeakTTSProvider
from vixio.providers.silero_vad.provider import SileroVADProvider
from vixio.providers.silero_vad.worker import Lane
from vixio.providers.tts import TTSProvider
from vixio.providers.vad import VADProvider

NEVER_RESTS = RestSettings(first=0.0, longest=0.0, unusable=0.0)


@asynccontextmanager
async def silero() -> AsyncIterator[VADProvider]:
    yield SileroVADProvider()


@asynccontextmanager
async def espeak() -> AsyncIterator[TTSProvider]:
    yield EspeakTTSProvider()


class BrokenVAD(SileroVADProvider):
    """Starts, and then fails whatever it is given; its windows are shorter."""

    name = "broken"
    window_samples = 256

    async def run(self, lane: Lane, pcm: bytes, *, forget: bool) -> list[float]:
        raise ProviderError(self.name, "out of order")


class BrokenTTS(EspeakTTSProvider):
    """Starts, and then says nothing; as a generator that fails before its first piece."""

    name = "broken"

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        if text:
            raise ProviderError(self.name, "out of order")
        yield b""


@asynccontextmanager
async def chained_vad() -> AsyncIterator[VADProvider]:
    # No rest: every test has the broken one fail again.
    yield ChainVADProvider([BrokenVAD(), SileroVADProvider()], NEVER_RESTS)


@asynccontextmanager
async def chained_tts() -> AsyncIterator[TTSProvider]:
    yield ChainTTSProvider([BrokenTTS(), EspeakTTSProvider()], rest=NEVER_RESTS)


VADS: dict[str, Callable[[], AbstractAsyncContextManager[VADProvider]]] = {
    "silero": silero,
    "chain of broken, silero": chained_vad,
}
TTSES: dict[str, Callable[[], AbstractAsyncContextManager[TTSProvider]]] = {
    "espeak": espeak,
    "chain of broken, espeak": chained_tts,
}


def _threads() -> set[threading.Thread]:
    """Every thread but those of the loop's own executor, which ends with the loop.

    LiteLLM has an executor for the whole process, for its logging.
    """
    module = sys.modules.get("litellm.litellm_core_utils.thread_pool_executor")
    foreign = module.executor._threads if module is not None else ()
    return {
        each
        for each in threading.enumerate()
        if not each.name.startswith("asyncio_") and each not in foreign
    }


@pytest.fixture(autouse=True)
def no_thread_left() -> Iterator[None]:
    """Whatever a test does, when it is over its provider's threads are."""
    before = _threads()
    yield
    assert _threads() <= before


@pytest.fixture
async def no_task_left(no_thread_left: None) -> AsyncIterator[None]:
    """And its tasks; requested by the fixtures below, so it looks after they have closed."""
    yield
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.fixture(params=sorted(VADS))
async def unstarted_vad(
    request: pytest.FixtureRequest, no_task_left: None
) -> AsyncIterator[VADProvider]:
    async with VADS[request.param]() as provider:
        yield provider
        await provider.close()


@pytest.fixture
async def vad(unstarted_vad: VADProvider) -> VADProvider:
    await unstarted_vad.start()
    return unstarted_vad


@pytest.fixture(params=sorted(TTSES))
async def unstarted_tts(
    request: pytest.FixtureRequest, no_task_left: None
) -> AsyncIterator[TTSProvider]:
    async with TTSES[request.param]() as provider:
        yield provider
        await provider.close()


@pytest.fixture
async def tts(unstarted_tts: TTSProvider) -> TTSProvider:
    await unstarted_tts.start()
    return unstarted_tts


@pytest.fixture
async def speech() -> bytes:
    """Two sentences of 16 kHz PCM, about five seconds."""
    return await spoken("Please set the volume to thirty percent. And turn on the lamp.")

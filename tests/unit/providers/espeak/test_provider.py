"""eSpeak NG beyond the contract suite: voices, settings, and the workers that providers share."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from pydantic import ValidationError

from vixio.core.audio import pcm_seconds
from vixio.core.errors import ProviderUnavailable
from vixio.providers import registry
from vixio.providers.espeak.provider import EspeakSettings, EspeakTTSProvider
from vixio.providers.espeak_process.pool import acquire, release

pytestmark = pytest.mark.slow

LIMIT = 30.0
SENTENCE = "The volume is now at thirty percent."


async def say(settings: EspeakSettings, text: str = SENTENCE, language: str = "") -> bytes:
    tts = EspeakTTSProvider(settings)
    async with asyncio.timeout(LIMIT):
        await tts.start()
        try:
            return b"".join([chunk async for chunk in tts.synthesize(text, language=language)])
        finally:
            await tts.close()


def loudness(pcm: bytes) -> float:
    return float(np.sqrt(np.mean(np.frombuffer(pcm, dtype="<i2").astype(np.float64) ** 2)))


@pytest.mark.parametrize(
    "wrong", [{"speed": 1}, {"rate": 79}, {"rate": 451}, {"pitch": 100}, {"volume": 201}]
)
def test_settings_refuse_what_cannot_be(wrong: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        EspeakSettings.model_validate(wrong)


def test_the_registry_knows_it() -> None:
    factory = registry.resolve("tts", "espeak")
    assert factory.settings_model is EspeakSettings
    assert isinstance(factory.create(EspeakSettings()), EspeakTTSProvider)


async def test_rate_is_words_a_minute() -> None:
    slow, fast = await say(EspeakSettings(rate=100)), await say(EspeakSettings(rate=300))
    assert 2.0 < len(slow) / len(fast) < 4.0


async def test_volume_and_pitch() -> None:
    assert loudness(await say(EspeakSettings(volume=20))) < 0.5 * loudness(
        await say(EspeakSettings(volume=100))
    )
    assert await say(EspeakSettings(pitch=10)) != await say(EspeakSettings(pitch=90))


async def test_chinese_is_read_and_not_spelled() -> None:
    """Its voice data is in the wheel; an English voice would name every character."""
    text = "音量已经调到百分之三十。"
    settings = EspeakSettings()
    chinese = pcm_seconds(await say(settings, text, "zh-CN"), 22_050)
    assert 1.0 < chinese < 5.0
    for language in ("", "en", "zh"):
        assert pcm_seconds(await say(settings, text, language), 22_050) == pytest.approx(
            chinese, rel=0.05
        )


async def test_two_providers_keep_their_voices() -> None:
    one, other = EspeakSettings(rate=120), EspeakSettings(voice="de", rate=250)
    alone = [len(await say(one)), len(await say(other))]
    both = await asyncio.gather(*(say(each) for each in (one, other) * 5))
    assert [len(each) for each in both] == pytest.approx(alone * 5, rel=0.05)


@pytest.mark.parametrize(
    ("language", "names"),
    [
        ("", ["en+f3"]),
        ("en-US", ["en-us", "slow", "en+f3"]),
        ("zh_TW", ["zh-tw", "cmn", "en+f3"]),
        ("de", ["de", "en+f3"]),
        ("../../etc/passwd", ["en+f3"]),
        ("en us", ["en+f3"]),
    ],
)
def test_voices_to_try(language: str, names: list[str]) -> None:
    tts = EspeakTTSProvider(EspeakSettings(voice="en+f3", voices={"en": "slow", "zh": "cmn"}))
    assert [each.name for each in tts._voices(language)] == names


@pytest.mark.parametrize("settings", [{"voice": "no-such"}, {"voices": {"fr": "no-such"}}])
async def test_an_unknown_voice_is_an_error_at_start(settings: dict[str, object]) -> None:
    tts = EspeakTTSProvider(EspeakSettings.model_validate(settings))
    with pytest.raises(ProviderUnavailable, match="no voice no-such"):
        await tts.start()
    await tts.close()


async def test_providers_share_the_workers_until_the_last_one_closes() -> None:
    one, other = EspeakTTSProvider(), EspeakTTSProvider()
    await asyncio.gather(one.start(), other.start())
    pool = await acquire()
    workers = pool.workers
    assert workers
    await release()
    await one.close()
    assert [chunk async for chunk in other.synthesize("yes")]
    assert pool.workers == workers
    await other.close()
    assert pool.workers == ()
    assert {worker.exit_code for worker in workers} == {0}


async def test_an_unknown_voice_leaves_no_worker() -> None:
    tts = EspeakTTSProvider(EspeakSettings(voice="no-such"))
    pool = await acquire()
    with pytest.raises(ProviderUnavailable):
        await tts.start()
    await tts.close()
    await release()
    assert pool.workers == ()

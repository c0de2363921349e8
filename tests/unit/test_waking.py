"""What stands in front of a provider that is still loading."""

from __future__ import annotations

import asyncio

import pytest

from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.core.messages import MESSAGES, WAKING, failure_key
from vixio.providers.asr import SpeechHints
from vixio.testing import ScriptedASR, ScriptedTTS, ScriptedVAD
from vixio.waking import HELD_BYTES, Loading, WakingASR, WakingTTS, WakingVAD

SECOND = bytes(32_000)
HINTS = SpeechHints()
MISSING = ProviderUnavailable("x", "install it")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vixio.waking.WAIT_S", 0.01)


@pytest.fixture
def loading() -> Loading:
    return Loading("x")


async def test_a_recogniser_gets_what_was_held(loading: Loading) -> None:
    asr = ScriptedASR(["words"])
    stream = WakingASR(asr, loading).open(HINTS)
    await stream.feed(SECOND)
    assert asr.hints == []  # nothing is asked of it before
    loading.succeeded()
    await stream.feed(SECOND)
    assert (await stream.finish()).text == stream.partial == "words"
    assert asr.utterances == [SECOND * 2]
    await stream.close()
    assert asr.open_streams == 0


async def test_a_recogniser_that_is_ready_in_the_moments_wait(
    loading: Loading, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vixio.waking.WAIT_S", 5.0)
    stream = WakingASR(ScriptedASR(["words"]), loading).open(HINTS)
    await stream.feed(SECOND)
    finishing = asyncio.create_task(stream.finish())
    await asyncio.sleep(0)
    loading.succeeded()
    assert (await finishing).text == "words"
    await stream.close()


async def test_a_recogniser_that_is_not_ready(loading: Loading) -> None:
    waking = WakingASR(ScriptedASR(), loading)
    waking.prepare(HINTS)
    stream = waking.open(HINTS)
    await stream.feed(SECOND)
    with pytest.raises(ProviderError) as caught:
        await stream.finish()
    assert caught.value.reason == WAKING
    await stream.close()


async def test_a_long_utterance_is_not_held(loading: Loading) -> None:
    asr = ScriptedASR(["words"])
    stream = WakingASR(asr, loading).open(HINTS)
    for _ in range(HELD_BYTES // len(SECOND) + 2):
        await stream.feed(SECOND)
    loading.succeeded()
    await stream.feed(SECOND)
    with pytest.raises(ProviderError) as caught:  # half of it would be other words
        await stream.finish()
    assert caught.value.reason == WAKING
    assert asr.hints == []
    await stream.close()


async def test_a_ready_one_is_what_is_used(loading: Loading) -> None:
    loading.succeeded()
    asr, tts, vad = ScriptedASR(), ScriptedTTS(), ScriptedVAD()
    WakingASR(asr, loading).open(HINTS)
    assert asr.open_streams == 1
    assert WakingTTS(tts, loading).turn() is tts
    WakingVAD(vad, loading).open()
    assert vad.open_streams == 1


async def test_one_that_never_will_be_says_why(loading: Loading) -> None:
    loading.failed(MISSING)
    stream = WakingASR(ScriptedASR(), loading).open(HINTS)
    with pytest.raises(ProviderUnavailable):
        await stream.finish()
    with pytest.raises(ProviderUnavailable):
        [pcm async for pcm in WakingTTS(ScriptedTTS(), loading).turn().synthesize("x")]
    with pytest.raises(ProviderUnavailable):
        await WakingVAD(ScriptedVAD(), loading).open().process(SECOND)


async def test_a_voice_speaks_once_it_can(loading: Loading) -> None:
    voice = WakingTTS(ScriptedTTS(sample_rate=16_000), loading).turn()
    with pytest.raises(ProviderError) as caught:
        [pcm async for pcm in voice.synthesize("hello")]
    assert caught.value.reason == WAKING
    loading.succeeded()
    assert [pcm async for pcm in voice.synthesize("hello")]
    assert voice.sample_rate == 16_000


async def test_a_detector_complains_once_and_then_works(loading: Loading) -> None:
    vad = ScriptedVAD()
    stream = WakingVAD(vad, loading).open()
    with pytest.raises(ProviderError) as caught:
        await stream.process(SECOND)
    assert caught.value.reason == WAKING
    assert list(await stream.process(SECOND)) == []
    stream.reset()
    assert list(await stream.process(SECOND)) == []
    loading.succeeded()
    assert len(await stream.process(SECOND)) == 16_000 // vad.window_samples
    stream.reset()
    stream.close()
    assert vad.open_streams == 0
    with pytest.raises(ProviderError):
        await stream.process(SECOND)


def test_every_language_has_words_for_it() -> None:
    for words in MESSAGES.values():
        assert words[failure_key(WAKING)]
        assert words["waking_status"]
    assert failure_key("service") == "failed"

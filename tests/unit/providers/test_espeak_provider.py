"""What of eSpeak NG the contract suite does not say: voices, settings, its thread, its absence."""

from __future__ import annotations

import asyncio
import ctypes
import subprocess
import sys
import threading
from collections.abc import AsyncIterator

import numpy as np
import pytest
from pydantic import ValidationError

from vixio.core.audio import pcm_seconds
from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.providers import registry
from vixio.providers.espeak.engine import ENGINE, Job
from vixio.providers.espeak.provider import EspeakSettings, EspeakTTSProvider
from vixio.providers.espeak_library import EspeakLibrary, Voice

LIMIT = 10.0
SENTENCE = "The volume is now at thirty percent."
VOICE = Voice("en-us", 165, 50, 100)


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


@pytest.fixture
async def held() -> AsyncIterator[EspeakLibrary]:
    """The library while its thread runs, for tests of the thread."""
    ENGINE.load()
    ENGINE.hold()
    loaded = ENGINE._library
    assert loaded is not None
    yield loaded
    await asyncio.to_thread(ENGINE.release)


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
async def test_an_unknown_voice_is_told_at_start(settings: dict[str, object]) -> None:
    tts = EspeakTTSProvider(EspeakSettings.model_validate(settings))
    with pytest.raises(ProviderUnavailable, match="no voice no-such"):
        await tts.start()
    await tts.close()


async def test_false_from_write_ends_the_call(held: EspeakLibrary) -> None:
    written: list[bytes] = []
    held.set_voice(VOICE)
    held.synthesize("one two three four five six seven", written.append, pause_after=False)  # type: ignore[arg-type]  # append returns None, which is false
    assert len(written) == 1
    held.synthesize("one", bool, pause_after=False)


async def test_a_cancelled_job_is_left_at_once(held: EspeakLibrary) -> None:
    job = Job("word " * 40, (VOICE,), pause_after=False)
    entered, cancelled = threading.Event(), threading.Event()
    calls: list[bool] = []
    write = job.write

    def watched(pcm: bytes) -> bool:
        entered.set()
        assert cancelled.wait(LIMIT)
        calls.append(write(pcm))
        return calls[-1]

    job.write = watched  # type: ignore[method-assign]  # the thread must be caught inside a call
    ENGINE.submit(job)
    assert await asyncio.to_thread(entered.wait, LIMIT)
    job.cancel()
    cancelled.set()
    after = Job("yes", (VOICE,), pause_after=False)
    ENGINE.submit(after)
    assert await asyncio.wait_for(after.next(), LIMIT)
    assert calls == [False]


async def test_a_fault_is_told_and_the_thread_goes_on(
    held: EspeakLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OSError("broken")

    with monkeypatch.context() as patch:
        patch.setattr(held, "synthesize", broken)
        job = Job("yes", (VOICE,), pause_after=False)
        ENGINE.submit(job)
        with pytest.raises(ProviderError, match="synthesis failed"):
            await asyncio.wait_for(job.next(), LIMIT)
    job = Job("yes", (Voice("no-such", 165, 50, 100),), pause_after=False)
    ENGINE.submit(job)
    with pytest.raises(ProviderError, match="no such voice: no-such"):
        await asyncio.wait_for(job.next(), LIMIT)
    job = Job("yes", (VOICE,), pause_after=False)
    ENGINE.submit(job)
    assert await asyncio.wait_for(job.next(), LIMIT)


async def test_the_thread_lives_while_somebody_holds_it() -> None:
    def running() -> int:
        return sum(each.name == "vixio-espeak" for each in threading.enumerate())

    one, other = EspeakTTSProvider(), EspeakTTSProvider()
    await one.start()
    await other.start()
    assert running() == 1
    await one.close()
    assert running() == 1
    assert [chunk async for chunk in other.synthesize("yes")]
    await other.close()
    assert running() == 0


def test_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(path: str) -> None:
        raise OSError(path)

    monkeypatch.setitem(sys.modules, "espeakng_loader", None)
    monkeypatch.setattr(ctypes, "CDLL", nowhere)
    with pytest.raises(ProviderUnavailable, match="pip install espeakng-loader"):
        EspeakLibrary()


def test_no_data() -> None:
    """In a process of its own: the library's state would not survive it."""
    program = """
from vixio.core.errors import ProviderUnavailable
from vixio.providers import espeak_library as library
path, _ = library._bundled()
library._bundled = lambda: (path, b"/nonexistent")
try:
    library.EspeakLibrary()
except ProviderUnavailable as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True
    )
    assert "no voice data in /nonexistent" in done.stdout

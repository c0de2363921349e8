"""Voices of one's own against their stand-in: presets, templates, and what goes wrong."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from pydantic import ValidationError

from tests.support.waiting import until
from tests.vendors.own_voices import PRESETS, voice
from tests.vendors.replies import TEXTS, say_some
from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.providers.http_tts.provider import HttpTTSProvider, HttpTTSSettings
from vixio.testing.contract.tts import say
from vixio_bench.vendors.base import Trouble, tone
from vixio_bench.vendors.own_voices.service import EMPTY, JSON, OwnVoices

TEXT = TEXTS[0]


def seconds(pcm: bytes, rate: int) -> float:
    return len(pcm) / 2 / rate


@pytest.mark.parametrize("files", [1, 3])
@pytest.mark.parametrize("preset", PRESETS)
async def test_a_preset_speaks_all_of_a_text(preset: str, files: int) -> None:
    async with OwnVoices() as service:
        service.files = files
        tts = voice(service, preset)
        await tts.start()
        sound = await say(tts, TEXT)
        expected = seconds(tone(TEXT, 24_000), 24_000)
        assert seconds(sound, tts.sample_rate) == pytest.approx(expected, abs=0.01)
        loud = np.abs(np.frombuffer(sound, "<i2").astype(float))
        assert loud.max() < 12_000, "a header or an odd byte was spoken"
        await tts.close()


async def test_what_is_sent() -> None:
    async with OwnVoices() as service:
        sovits = voice(service, "gpt-sovits")
        await sovits.start()
        await say(sovits, TEXT)
        await say(sovits, "Good morning, my friend.", language="en-GB")
        await sovits.close()
        fish = voice(service, "fish-speech")
        await fish.start()
        await say(fish, TEXT)
        await fish.close()
        first, second, third = service.asked
    assert first == {
        "text": TEXT,
        "text_lang": "zh",
        "prompt_lang": "zh",
        "prompt_text": "你好",
        "ref_audio_path": "/voices/xiaoxiao.wav",
        "streaming_mode": True,
        "media_type": "wav",
    }
    assert second["text_lang"] == "en"
    assert third == {"text": TEXT, "format": "wav", "streaming": True}  # no voice: left out


async def test_a_template_of_ones_own() -> None:
    async with OwnVoices() as service:
        settings = HttpTTSSettings.model_validate(
            {
                "url": service.url("index-tts"),
                "body": {
                    "text": "{text}",
                    "character": "xiaoxiao",
                    "how": {"mood": "{emotion}", "list": ["{language}", 1]},
                    "voice": "{voice}",
                },
                "response_format": "pcm",
            }
        )
        tts = HttpTTSProvider(settings)
        await tts.start()
        turn = tts.turn()
        turn.expect(TEXT, emotion="happy")
        assert await say(turn, TEXT) == tone(TEXT, 24_000)
        await turn.leave()
        await tts.close()
        (asked,) = service.asked
    how = {"mood": "happy", "list": ["zh", 1]}
    assert asked == {"text": TEXT, "character": "xiaoxiao", "how": how}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "a preset, or url and body"),
        ({"url": "http://127.0.0.1:1/tts", "body": {"a": "b"}}, '"{text}"'),
        ({"preset": "gpt-sovits"}, "recording of the voice"),
        ({"preset": "index-tts"}, "tts.voice"),
        ({"preset": "gpt-sovits", "body": {"text": None, "ref_audio_path": "x"}}, '"{text}"'),
        ({"preset": "fish-speech", "url": "192.168.1.20"}, "an address such as"),
    ],
)
def test_settings_that_ask_for_nothing_are_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        HttpTTSSettings.model_validate(options)
    assert words in str(caught.value)


@pytest.mark.parametrize("preset", PRESETS)
async def test_an_interrupted_sentence_ends_its_request(preset: str) -> None:
    async with OwnVoices() as service:
        service.fail(Trouble.STALL)
        tts = voice(service, preset)
        await tts.start()
        assert await say_some(tts, TEXT)
        await until(lambda: service.account.cancelled == 1)
        await tts.close()
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("trouble", [Trouble.CUT, JSON, EMPTY])
async def test_speech_that_breaks_off_is_an_error(trouble: str, preset: str) -> None:
    async with OwnVoices() as service:
        service.fail(trouble)
        tts = voice(service, preset)
        await tts.start()
        with pytest.raises(ProviderError):
            await say(tts, TEXT)
        assert await say(tts, TEXT)
        await tts.close()


async def test_what_the_server_says_is_told() -> None:
    async with OwnVoices() as service:
        wrong = voice(service, "gpt-sovits", body={"ref_audio_path": "/nowhere.wav"})
        await wrong.start()
        with pytest.raises(ProviderError, match=r"ref_audio_path is required.*see tts\.body"):
            await say(wrong, TEXT)
        await wrong.close()
        other = voice(service, "fish-speech", api_key="another")
        await other.start()
        with pytest.raises(ProviderUnavailable, match=r"refuses the api_key"):
            await say(other, TEXT)
        await other.close()
        service.fail(JSON)
        tts = voice(service, "gpt-sovits")
        await tts.start()
        with pytest.raises(ProviderError, match="tts failed"):
            await say(tts, TEXT)
        await tts.close()

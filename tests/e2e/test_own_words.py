"""What the assistant says by itself, in the device's language: a filler, a reason, an apology."""

from __future__ import annotations

import asyncio
import re

import pytest

from firmware_test_client import Reply, SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well, what
from tests.e2e.doubles import WaveformASR
from tests.e2e.harness import serving, settings
from tests.support.llm_server import LLMServer, Stall, failure, text
from vixio.core.messages import FILLERS, message
from vixio.testing import ScriptedTTS, ScriptedVAD

SENTENCE = "tts sentence_start"
REASONS = {
    "en": (401, "Sorry, the key for the language model is not valid."),
    "zh-CN": (401, "抱歉，语言模型的密钥无效。"),
    "de": (402, "Entschuldigung, das Guthaben für das Sprachmodell ist aufgebraucht."),
}
"""By language: how the service refuses, and what is said about it."""


def said(reply: Reply) -> str:
    """Return its words, without the spaces that its parts are joined with where there are none."""
    return re.sub("(?<=[，。]) ", "", reply.text)


@pytest.mark.parametrize("language", ["en", "zh-CN"])
async def test_a_slow_model_is_bridged_once_and_then_answers(language: str) -> None:
    stall = Stall()
    async with LLMServer() as model:
        model.script(text(stall, "Here it is."))
        config = settings(
            agent={"name": "openai", "base_url": model.base_url},
            assistant={"language": language, "filler_after": 0.2},
        )
        voice = ScriptedTTS(seconds_per_char=0.05)
        async with (
            serving(config, vad=ScriptedVAD(), asr=WaveformASR({}), tts=voice) as server,
            SimulatedDevice(server.device()) as device,
        ):
            asked = asyncio.create_task(device.type_text("tell me"))
            await device.wait_for_frame("tts", where=lambda frame: what(frame) == SENTENCE)
            stall.go.set()
            reply = await asked
            filler, answer = (sentence.text for sentence in reply.sentences)
            assert filler in {message(key, language) for key in FILLERS}
            assert answer == "Here it is."
            assert voice.spoken == [filler, answer]
            assert_played_well(reply)
            assert_nothing_wrong(device)
            told = model.requests[-1]["messages"]
            assert isinstance(told, list)
            model.script(text("Of course."))
            await device.type_text("and now")
            assert filler not in str(model.requests[-1]["messages"])


@pytest.mark.parametrize("language", REASONS)
async def test_a_model_that_is_out_is_named_with_its_reason(language: str) -> None:
    """With the phrase book behind it too, which would not have understood."""
    status, told = REASONS[language]
    async with LLMServer() as model:
        openai = {"name": "openai", "base_url": model.base_url, "retries": 0}
        for agent in (openai, {"name": "fallback", "models": [openai, {"name": "phrasebook"}]}):
            model.script(failure(status, "no"))
            config = settings(agent=agent, assistant={"language": language})
            async with (
                serving(
                    config,
                    vad=ScriptedVAD(),
                    asr=WaveformASR({}),
                    tts=ScriptedTTS(seconds_per_char=0.02),
                ) as server,
                SimulatedDevice(server.device()) as device,
            ):
                reply = await device.type_text("tell me a story")
                assert said(reply) == told
                assert_played_well(reply)
                assert_nothing_wrong(device)


async def test_a_chinese_device_that_is_not_understood_hears_chinese() -> None:
    """With the default recogniser, whose own language is English."""
    config = settings(assistant={"language": "zh-CN"})
    async with serving(config) as server, SimulatedDevice(server.device()) as device:
        reply = await device.ask("my grandmother bakes wonderful apple pies on sunday")
        assert said(reply) == message("not_understood_first", "zh")
        assert_played_well(reply)
        again = await device.ask("my grandmother bakes wonderful apple pies on sunday")
        assert said(again) == message("not_understood", "zh")
        assert said(await device.type_text("你记得我什么")) == message("memory_empty", "zh")
        assert said(await device.type_text("量子纠缠是什么")) == message("not_understood", "zh")
        assert_nothing_wrong(device)


@pytest.mark.parametrize("language", ["en", "zh-CN", "de"])
async def test_what_is_not_understood_is_apologised_for_in_the_devices_language(
    language: str,
) -> None:
    config = settings(assistant={"language": language})
    async with (
        serving(
            config,
            vad=ScriptedVAD(),
            asr=WaveformASR({}),
            tts=ScriptedTTS(seconds_per_char=0.02),
        ) as server,
        SimulatedDevice(server.device()) as device,
    ):
        reply = await device.type_text("colourless green ideas")
        assert said(reply) == message("not_understood_first", language)
        assert_played_well(reply)
        assert_nothing_wrong(device)


async def test_english_that_a_german_device_hears_is_answered_in_german() -> None:
    """By the default recogniser, whose language is English; the voice's is not."""
    config = settings(assistant={"language": "de"})
    async with serving(config) as server, SimulatedDevice(server.device()) as device:
        reply = await device.ask("set the volume to thirty percent")
        assert device.volume == 30
        assert said(reply) == "Die Lautstärke ist jetzt bei 30 Prozent."
        assert said(await device.type_text("Mach bitte lauter.")) == (
            "Die Lautstärke ist jetzt bei 40 Prozent."
        )
        assert_nothing_wrong(device)

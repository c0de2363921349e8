"""Devices are served by their profiles, which may change while they talk."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from firmware_test_client import Reply, SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.doubles import EarASR, loudest_hertz, recordings
from tests.e2e.harness import RunningServer, serving, settings, until
from tests.support.llm_server import LLMServer, text
from tests.support.tone_voice import ToneVoice, tones
from vixio.settings import Settings
from vixio.testing import ScriptedVAD

ANN, BEN = "02:00:00:00:00:0a", "02:00:00:00:00:0b"
SOUND = "good morning"


@pytest.fixture
def voices(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[ToneVoice]]:
    with tones(monkeypatch) as made:
        yield made


@pytest.fixture
async def model() -> AsyncIterator[LLMServer]:
    async with LLMServer() as server:
        yield server


def served_by(model: LLMServer, devices: dict[str, Any]) -> Settings:
    return settings(
        agent={"name": "openai", "api_key": "k", "base_url": model.base_url, "model": "small"},
        tts={"name": "tone", "hertz": 440},
        devices=devices,
    )


def assert_spoken_at(hertz: int, reply: Reply) -> None:
    assert_played_well(reply)
    assert abs(loudest_hertz(reply.heard.samples, reply.heard.rate) - hertz) < 10


def asked(model: LLMServer, index: int = -1) -> tuple[str, str]:
    """Return the model and the instructions of a request."""
    request = model.requests[index]
    return request["model"], request["messages"][0]["content"]


def state(server: RunningServer, kind: str) -> list[tuple[str, int]]:
    """Return the providers of a kind in the pool, with their numbers of leases."""
    return [
        (each["provider"], each["sessions"])
        for each in server.app.providers.pool.stats()
        if each["kind"] == kind
    ]


async def test_a_profile_that_changes_in_mid_conversation(
    voices: list[ToneVoice], model: LLMServer
) -> None:
    """Voice, model and language are others in the next turn, on the same connection."""
    chinese = {
        "language": "zh-CN",
        "user": "小明",
        "agent": {"model": "large"},
        "tts": {"hertz": 880},
        "wake_reply": "在呢。",
    }
    async with (
        serving(served_by(model, {}), vad=ScriptedVAD(), asr=EarASR({})) as server,
        SimulatedDevice(server.device(device_id=ANN)) as device,
    ):
        model.script(text("One."), text("Two."))
        assert_spoken_at(440, await device.type_text("first"))
        assert asked(model)[0] == "small"
        assert "Answer in English" in asked(model)[1]
        session = server.session(ANN)
        assert session is not None

        server.app.reload(served_by(model, {ANN: chinese}))
        await until(
            lambda: server.count("tool.sessions") or session.context.language == "zh-CN",
            what="the change",
        )

        assert_spoken_at(880, await device.type_text("second"))
        used, instructions = asked(model)
        assert used == "large"
        assert "Answer in Chinese" in instructions
        assert "The user's name is 小明." in instructions
        earlier = [message["content"] for message in model.requests[-1]["messages"][1:-1]]
        assert earlier == ["first", "One."], "the conversation goes on"
        assert server.session(ANN) is session
        await device.send_json({"type": "listen", "state": "detect", "text": "Jarvis"})
        assert (await device.wait_for_reply()).text == "在呢。"
        assert_nothing_wrong(device)


async def test_a_change_while_the_user_speaks_loses_no_word(
    voices: list[ToneVoice], model: LLMServer
) -> None:
    ear = EarASR(await recordings([SOUND]))
    async with (
        serving(served_by(model, {}), vad=ScriptedVAD(), asr=ear) as server,
        SimulatedDevice(server.device(device_id=ANN)) as device,
    ):
        model.script(text("One."), text("Two."))
        asking = asyncio.create_task(device.ask(SOUND))
        session = server.session(ANN)
        assert session is not None
        await until(lambda: session.user_speaking, what="the user to speak")
        server.app.reload(served_by(model, {ANN: {"tts": {"hertz": 880}}}))
        reply = await asking
        assert reply.stt == SOUND
        assert_played_well(reply)
        await until(lambda: state(server, "tts") == [("tone", 1), ("tone", 1)], what="the change")
        assert_spoken_at(880, await device.type_text("next"))
        assert_nothing_wrong(device)


async def test_two_devices_share_equal_providers_and_keep_others_apart(
    voices: list[ToneVoice], model: LLMServer
) -> None:
    devices = {ANN: {"name": "Ann's"}, BEN: {"tts": {"hertz": 880}, "name": "Ben's"}}
    async with serving(served_by(model, devices), asr=EarASR({})) as server:
        server.app.providers.pool.linger = 0.05
        assert [voice.hertz for voice in voices] == [440], "others are loaded when they are needed"
        async with SimulatedDevice(server.device(device_id=ANN)) as ann:
            async with SimulatedDevice(server.device(device_id=BEN)) as ben:
                model.script(text("One."), text("Two."))
                replies = await asyncio.gather(ann.type_text("hi"), ben.type_text("hi"))
                assert_spoken_at(440, replies[0])
                assert_spoken_at(880, replies[1])
                names = {asked(model, index)[1].partition("is called ")[2][:5] for index in (0, 1)}
                assert names == {"Ann's", "Ben's"}
                # One lease of the default providers is the server's own.
                assert state(server, "tts") == [("tone", 2), ("tone", 1)]
                assert state(server, "agent") == [("openai", 3)]
                assert [(voice.hertz, voice.starts) for voice in voices] == [(440, 1), (880, 1)]
                assert_nothing_wrong(ann)
                assert_nothing_wrong(ben)
            await until(lambda: voices[1].closes == 1, what="the end of the other voice")
            assert state(server, "tts") == [("tone", 2)]
            assert voices[0].closes == 0
    assert [voice.closes for voice in voices] == [1, 1]

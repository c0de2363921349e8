"""Devices are served by their profiles, which may change while they talk."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from firmware_test_client import Reply, SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.doubles import WaveformASR, loudest_hertz, recordings
from tests.e2e.harness import RunningServer, serving, settings
from tests.support.llm_server import LLMServer, text
from tests.support.tone_voice import ToneVoice, tones
from tests.support.waiting import until
from vixio.core.device import Device, DeviceProfile
from vixio.core.errors import ConfigError, ProviderUnavailable
from vixio.settings import Settings
from vixio.settings.devices import DeviceSection
from vixio.testing import ScriptedAgentBackend, ScriptedVAD

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


def served_by(model: LLMServer, sections: dict[str, Any]) -> Settings:
    return settings(
        agent={"name": "openai", "api_key": "k", "base_url": model.base_url, "model": "small"},
        tts={"name": "tone", "hertz": 440},
        devices=sections,
    )


def devices(section: dict[str, Any]) -> dict[str, DeviceSection]:
    """Return the section of the settings, for one device."""
    return Settings.model_validate({"devices": {ANN: section}}).devices


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
        serving(served_by(model, {}), vad=ScriptedVAD(), asr=WaveformASR({})) as server,
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
    recogniser = WaveformASR(await recordings([SOUND]))
    async with (
        serving(served_by(model, {}), vad=ScriptedVAD(), asr=recogniser) as server,
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
    both = {ANN: {"name": "Ann's"}, BEN: {"tts": {"hertz": 880}, "name": "Ben's"}}
    async with serving(served_by(model, both), asr=WaveformASR({})) as server:
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


async def test_the_old_voice_serves_until_the_new_one_has_loaded(voices: list[ToneVoice]) -> None:
    config = settings(tts={"name": "tone", "hertz": 440})
    slow = {"tts": {"name": "tone", "hertz": 880, "slow": True}, "language": "de"}
    async with (
        serving(config, asr=WaveformASR({}), agent=ScriptedAgentBackend()) as server,
        SimulatedDevice(server.device(device_id=ANN)) as device,
    ):
        server.app.reload(config.model_copy(update={"devices": devices(slow)}))
        await until(lambda: len(voices) == 2 and voices[1].starts, what="the new voice's start")
        assert_spoken_at(440, await device.type_text("early"))
        voices[1].loads.set()
        session = server.session(ANN)
        assert session is not None
        await until(lambda: session.context.language == "de", what="the change")
        assert_spoken_at(880, await device.type_text("late"))
        assert_nothing_wrong(device)


async def test_profiles_of_a_program(
    voices: list[ToneVoice], caplog: pytest.LogCaptureFixture
) -> None:
    """A resolver of its own, with provider sections as in a settings file, may be replaced too."""
    config = settings(tts={"name": "tone", "hertz": 440})
    async with (
        serving(config, asr=WaveformASR({}), agent=ScriptedAgentBackend()) as server,
        SimulatedDevice(server.device(device_id=ANN)) as device,
    ):
        session = server.session(ANN)
        assert session is not None

        async def changed_to(language: str, **tts: object) -> None:
            profile = DeviceProfile(language=language, tts={"name": "tone", **tts})
            server.app.update_profiles(lambda device: profile)
            await until(lambda: session.context.language == language, what="the change")

        await changed_to("de", hertz=880)
        assert_spoken_at(880, await device.type_text("one"))
        server.app.reload(config.model_copy(update={"devices": devices({"language": "fr"})}))
        await changed_to("it", hertz=660)
        assert_spoken_at(660, await device.type_text("two"))
        wrong = DeviceProfile(language="en", tts={"name": "tone", "hertz": "no number"})
        server.app.update_profiles(lambda device: wrong)
        assert_spoken_at(660, await device.type_text("three"))
        async with SimulatedDevice(server.device(device_id=BEN)) as other:
            assert_spoken_at(440, await other.type_text("four"))
            assert_nothing_wrong(other)
        assert_nothing_wrong(device)
    errors = [each for each in caplog.records if each.levelname == "ERROR"]
    assert [(vars(each)["device"], each.getMessage()) for each in errors] == [
        (ANN, "invalid profile, the device keeps its old one"),
        (BEN, "invalid profile, defaults replace what is invalid"),
    ]
    for record in errors:
        assert "tts.hertz: expected" in vars(record)["reason"]


async def test_the_same_resolver_with_other_data(voices: list[ToneVoice]) -> None:
    profiles = {ANN: DeviceProfile(language="en"), BEN: DeviceProfile(language="en")}
    config = settings(tts={"name": "tone", "hertz": 440})
    async with serving(config, asr=WaveformASR({}), agent=ScriptedAgentBackend()) as server:

        def resolver(device: Device) -> DeviceProfile:
            return profiles[device.id]

        server.app.update_profiles(resolver)
        async with SimulatedDevice(server.device(device_id=ANN)) as device:
            session = server.session(ANN)
            assert session is not None
            profiles[ANN] = DeviceProfile(language="de", tts={"hertz": 880})
            server.app.update_profiles(resolver)
            await until(lambda: session.context.language == "de", what="the change")
            assert_spoken_at(880, await device.type_text("hello"))
            assert_nothing_wrong(device)


async def test_instructions_with_an_unknown_name_leave_the_profile_as_it_is(
    voices: list[ToneVoice], model: LLMServer, caplog: pytest.LogCaptureFixture
) -> None:
    wrong = DeviceProfile(language="de", instructions="Be kind to {nobody}.")
    async with (
        serving(served_by(model, {}), asr=WaveformASR({})) as server,
        SimulatedDevice(server.device(device_id=ANN)) as device,
    ):
        session = server.session(ANN)
        assert session is not None
        session.reconfigure(wrong)
        await until(lambda: "profile not applied" in caplog.messages, what="the refusal")
        server.app.update_profiles(lambda device: wrong)
        model.script(text("One."))
        assert_spoken_at(440, await device.type_text("hello"))
        assert "Answer in English" in asked(model)[1]
        with pytest.raises(ConfigError, match=r"instructions: there is no \{nobody\}"):
            await server.app.conversation("terminal", wrong)
        assert_nothing_wrong(device)


async def test_a_change_during_a_devices_first_moments(
    voices: list[ToneVoice], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its engine is being made for the old profile: the new one follows at once."""
    monkeypatch.setattr("vixio.composition.providers.HOLD_S", 0.5)
    config = settings(tts={"name": "tone", "hertz": 440, "slow": True})
    backend = ScriptedAgentBackend()
    async with (
        serving(config, asr=WaveformASR({}), agent=backend, loaded=False) as server,
        SimulatedDevice(server.device(device_id=ANN)) as device,
    ):
        assert server.session(ANN) is None, "its engine waits for the voice"
        other = {"language": "de", "tts": {"name": "tone", "hertz": 880}}
        server.app.reload(config.model_copy(update={"devices": devices(other)}))
        await until(
            lambda: (session := server.session(ANN)) and session.context.language == "de",
            what="the change",
        )
        assert_spoken_at(880, await device.type_text("hello"))
        assert_nothing_wrong(device)
        voices[0].loads.set()


async def test_settings_with_a_provider_that_cannot_be_made_change_nothing(
    voices: list[ToneVoice], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    config = settings(tts={"name": "tone"})
    async with serving(config, asr=WaveformASR({}), loaded=False) as server:
        before = server.app.settings
        with pytest.raises(ProviderUnavailable, match="no api_key"):
            server.app.reload(settings(tts={"name": "tone"}, agent={"name": "openai"}))
        assert server.app.settings is before
        assert state(server, "tts") == [("tone", 1)]

"""The end of a conversation over a real socket: by itself, and by the user's goodbye."""

from __future__ import annotations

import asyncio

import pytest

from firmware_test_client import SimulatedDevice
from firmware_test_client.state import DeviceState
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.doubles import WaveformASR, recordings
from tests.e2e.harness import serving, settings
from vixio.core.messages import message
from vixio.testing import ScriptedAgentBackend, ScriptedTTS, ScriptedVAD

VOICE = 0.02
"""Seconds of speech a character."""


async def closed(device: SimulatedDevice) -> None:
    """Wait until the server has closed the connection; the firmware is idle then."""
    await device.wait_for(lambda: not device.channel_open, what="the end", timeout=60)
    await device.wait_for(lambda: device.state is DeviceState.IDLE, what="rest", timeout=60)
    assert device.records.closes[-1].code == 1000


@pytest.mark.parametrize("mode", ["auto", "realtime"])
async def test_a_device_that_hears_nobody_rests_after_a_goodbye(mode: str) -> None:
    config = settings(assistant={"idle_timeout": 1.0, "language": "de"})
    async with (
        serving(
            config, vad=ScriptedVAD(), asr=WaveformASR({}), tts=ScriptedTTS(seconds_per_char=VOICE)
        ) as server,
        SimulatedDevice(server.device(mode=mode)) as device,
    ):
        await device.wake(audio=False)
        goodbye = await device.wait_for_reply(timeout=60)
        assert goodbye.text == message("goodbye_idle", "de")
        assert_played_well(goodbye)
        await closed(device)
        assert_nothing_wrong(device)
        assert server.count("session.ended_by_idle") == 1
        # It is there again at the next wake word.
        await device.wake(audio=False)
        assert (await device.wait_for_reply(timeout=60)).text == goodbye.text


@pytest.mark.websocket
async def test_a_device_at_rest_stays_reachable() -> None:
    config = settings(assistant={"idle_timeout": 0.5})
    voice = ScriptedTTS(seconds_per_char=VOICE)
    async with (
        serving(config, vad=ScriptedVAD(), asr=WaveformASR({}), tts=voice) as server,
        SimulatedDevice(server.device(mode="manual")) as device,
        SimulatedDevice(server.device(device_id="02:00:00:00:00:77")) as other,
    ):
        await device.connect()
        await other.wake(audio=False)
        await closed(other)
        session = server.session(device.config.device_id)
        assert session is not None
        await session.say("Dinner is ready.").played()
        assert (await device.wait_for_reply(timeout=60)).text == "Dinner is ready."
        assert device.channel_open


async def test_a_spoken_goodbye_ends_it_with_any_agent() -> None:
    said = "okay goodbye"
    agent = ScriptedAgentBackend(lambda text: ("Never.",))
    async with (
        serving(
            asr=WaveformASR(await recordings([said])),
            agent=agent,
            tts=ScriptedTTS(seconds_per_char=VOICE),
        ) as server,
        SimulatedDevice(server.device()) as device,
    ):
        reply = await device.ask(said)
        assert reply.stt == said
        assert reply.text == message("goodbye", "en")
        assert_played_well(reply)
        await closed(device)
        assert_nothing_wrong(device)
        assert [request for each in agent.agents for request in each.requests] == []
        assert server.count("session.ended_by_user") == 1


async def test_the_phrase_book_takes_the_same_way() -> None:
    """Its own words for a goodbye, by speech, and words of the settings that are typed."""
    own = {"exit_phrases": ["Feierabend", "over and out"]}
    config = settings(devices={"02:00:00:00:00:88": own})
    async with serving(config) as server:
        async with SimulatedDevice(server.device()) as device:
            reply = await device.ask("goodbye")
            assert reply.text == message("goodbye", "en")
            await closed(device)
        async with SimulatedDevice(server.device(device_id="02:00:00:00:00:88")) as device:
            assert "understand" in (await device.type_text("feierabend for ever")).text
            asked = asyncio.create_task(device.type_text("Feierabend!"))
            assert (await asked).text == message("goodbye", "en")
            await closed(device)
        # The recogniser, which knows no other words, hears the device's own.
        async with SimulatedDevice(server.device(device_id="02:00:00:00:00:88")) as device:
            reply = await device.ask("over and out")
            assert (reply.stt, reply.text) == ("over and out", message("goodbye", "en"))
            await closed(device)
        assert server.count("session.ended_by_user") == 3

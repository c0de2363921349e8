"""Greetings over a real socket: by wake word, spoken once by the voice and kept for all."""

from __future__ import annotations

import pytest

from firmware_test_client import SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.doubles import WaveformASR
from tests.e2e.harness import serving, settings
from vixio.testing import ScriptedTTS, ScriptedVAD

OWN = "02:00:00:00:00:99"


async def test_the_audio_of_a_greeting_is_kept_across_connections_and_devices() -> None:
    voice = ScriptedTTS(seconds_per_char=0.02)
    config = settings(
        assistant={"wake_reply": {"hi esp": "Yes, what is it?", "*": "Here I am."}},
        devices={OWN: {"wake_reply": "Ready."}},
    )
    async with serving(config, vad=ScriptedVAD(), asr=WaveformASR({}), tts=voice) as server:

        async def greeted(device_id: str, word: str) -> str:
            async with SimulatedDevice(server.device(device_id=device_id)) as device:
                await device.disconnect()  # wake words are for a device at rest
                await device.wake(word, audio=False)
                reply = await device.wait_for_reply(timeout=60)
                assert_played_well(reply)
                assert_nothing_wrong(device)
                return reply.text

        for number in range(3):
            device_id = f"02:00:00:00:00:{number:02x}"
            assert await greeted(device_id, "Hi ESP") == "Yes, what is it?"
            assert await greeted(device_id, "你好小智") == "Here I am."
            assert await greeted(OWN, "Hi, ESP!") == "Ready."
        assert sorted(set(voice.spoken)) == sorted(voice.spoken), "each was made once"
        assert " ".join(sorted(voice.spoken)) == "Here I am. Ready. Yes, what is it?"


@pytest.mark.parametrize("of_the_device", [False, True])
async def test_a_wake_word_that_only_the_greeting_names_is_one(*, of_the_device: bool) -> None:
    named = {"wake_reply": {"ola bertha": "Ja?"}}
    config = settings(**({"devices": {OWN: named}} if of_the_device else {"assistant": named}))
    voice = ScriptedTTS(seconds_per_char=0.02)
    async with (
        serving(config, vad=ScriptedVAD(), asr=WaveformASR({}), tts=voice) as server,
        SimulatedDevice(server.device(device_id=OWN)) as device,
    ):
        await device.disconnect()  # wake words are for a device at rest
        await device.wake("Ola, Bertha", audio=False)
        assert (await device.wait_for_reply(timeout=60)).text == "Ja?"

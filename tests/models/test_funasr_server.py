"""A whole server with FunASR: transcript and emotion reach the agent."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from firmware_test_client import SimulatedDevice
from firmware_test_client.pcm import Pcm
from tests.e2e.checks import assert_nothing_wrong
from tests.e2e.harness import serving, settings
from tests.models.needs import needs
from vixio.testing import ScriptedAgentBackend, ScriptedTTS
from vixio.testing.contract.asr import OFF, ON, utterances

pytestmark = [
    *needs("funasr", "funasr", "torch", "kaldi_native_fbank", "sentencepiece"),
    pytest.mark.timeout(180),
]


async def test_two_devices_are_heard_with_their_moods(sensevoice: Path) -> None:
    agent = ScriptedAgentBackend()
    asr = {"name": "funasr", "model": str(sensevoice), "threads": 1}
    async with (
        serving(settings(asr=asr), agent=agent, tts=ScriptedTTS(seconds_per_char=0.01)) as server,
        SimulatedDevice(server.device(mode="manual", device_id="02:00:00:00:02:01")) as one,
        SimulatedDevice(server.device(mode="manual", device_id="02:00:00:00:02:02")) as other,
    ):
        said = [Pcm(utterances()[words], 16_000) for words in (ON, OFF)]
        replies = await asyncio.gather(one.ask(said[0]), other.ask(said[1]))
        assert [reply.stt for reply in replies] == [ON, OFF]
        asked = {request.text: request for each in agent.agents for request in each.requests}
        assert {text: request.emotion for text, request in asked.items()} == {
            ON: "happy",
            OFF: "angry",
        }
        assert {request.language for request in asked.values()} == {"en"}
        for device in (one, other):
            assert_nothing_wrong(device)

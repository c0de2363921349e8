"""A device that takes its time between ``tts start`` and playing hears every reply whole."""

from __future__ import annotations

import pytest

from firmware_test_client import SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.harness import serving, settings
from vixio.testing import ScriptedAgentBackend, ScriptedASR, ScriptedTTS, ScriptedVAD

TURNS = 3
"""The first is answered by a voice of unknown latency, the later ones are announced."""


LEAD_MS = 600
"""Far more than the delays, so that a process that reads ``tts start`` late does not fail the test.
All other tests run with the default of both."""


@pytest.mark.parametrize("delay_ms", [10, 30, 150])
@pytest.mark.parametrize("latency", [0.0, 0.3])
async def test_nothing_is_clipped(delay_ms: int, latency: float) -> None:
    config = settings(output={"start_lead_ms": LEAD_MS})
    async with (
        serving(
            config,
            vad=ScriptedVAD(),
            asr=ScriptedASR(),
            agent=ScriptedAgentBackend(lambda text: (f"You said {text}.",)),
            tts=ScriptedTTS(delay=latency),
        ) as server,
        SimulatedDevice(server.device(speaking_delay_ms=delay_ms)) as device,
    ):
        for number in range(TURNS):
            reply = await device.type_text(f"question {number}")
            assert reply.text == f"You said question {number}."
            assert (reply.too_early, reply.clipped_ms) == (0, 0)
            assert_played_well(reply)
        assert device.counters.audio_before_speaking == 0
        assert_nothing_wrong(device)


async def test_a_lead_shorter_than_the_delay_loses_audio() -> None:
    """What the lead is for: without it the device drops the beginning, and counts it."""
    config = settings(output={"start_lead_ms": 0})
    async with (
        serving(
            config,
            vad=ScriptedVAD(),
            asr=ScriptedASR(),
            agent=ScriptedAgentBackend(),
            tts=ScriptedTTS(),
        ) as server,
        SimulatedDevice(server.device(speaking_delay_ms=150)) as device,
    ):
        reply = await device.type_text("hello")
        assert reply.too_early > 0
        assert reply.clipped_ms > 0

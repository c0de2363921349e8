"""The first words between a device and a server with the default set but for the recogniser."""

from __future__ import annotations

from firmware_test_client import SimulatedDevice
from tests.e2e.harness import serving
from vixio.testing import ScriptedASR


async def test_a_spoken_turn_reaches_the_devices_own_tool() -> None:
    asr = ScriptedASR(["set the volume to thirty percent"])
    async with serving(asr=asr) as server, SimulatedDevice(server.device()) as device:
        reply = await device.ask("set the volume to thirty percent")
        assert reply.stt == "set the volume to thirty percent"
        assert device.volume == 30
        assert "30" in reply.text
        assert reply.late == reply.underruns == reply.overflows == 0
        assert reply.clipped_ms == 0
        assert reply.stop_lag_ms is not None
        assert 0 <= reply.stop_lag_ms <= 60
        assert reply.heard.duration > 1.0
        assert reply.heard.rms > 0.01

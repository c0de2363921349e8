"""A device's tool that fails with a message that the firmware does not escape."""

from __future__ import annotations

from firmware_test_client import SimulatedDevice, Tool
from tests.e2e.checks import assert_played_well
from tests.e2e.harness import serving
from tests.e2e.stages import knows_tool
from vixio.testing import ScriptedAgentBackend, ScriptedASR, ScriptedTTS, ScriptedVAD, ToolUse


def broken() -> bool:
    raise RuntimeError('no "lamp"\nis connected')


async def test_the_call_fails_at_once() -> None:
    agent = ScriptedAgentBackend(lambda _: (ToolUse("self_lamp_on", {}), "That did not work."))
    async with serving(
        vad=ScriptedVAD(), asr=ScriptedASR(), agent=agent, tts=ScriptedTTS()
    ) as server:
        device = SimulatedDevice(server.device())
        device.add_tool(Tool("self.lamp.on", "Turn on the lamp.", (), broken), notify=False)
        async with device:
            await knows_tool(server, device, "self.lamp.on")
            reply = await device.type_text("turn on the lamp")
            assert reply.text == "That did not work."
            assert_played_well(reply)
            assert server.count("xiaozhi.mcp.broken_json") == 1
            assert server.count("xiaozhi.mcp.call.failed") == 1
            assert server.count("xiaozhi.mcp.call.timeout") == 0

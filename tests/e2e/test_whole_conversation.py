"""The default set and nothing else: real speech through Silero, PocketSphinx, the phrase book and
eSpeak NG, both ways."""

from __future__ import annotations

import asyncio
import re

from firmware_test_client import SimulatedDevice, Tool
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.harness import RunningServer, serving
from tests.e2e.stages import knows_tool

LAMP = "self.lamp.turn_on"


async def settings_of_the_device(server: RunningServer) -> None:
    """Numbers in words reach the device's tool; what it answers is told."""
    async with SimulatedDevice(server.device()) as device:
        await knows_tool(server, device, "self.audio_speaker.set_volume")
        reply = await device.ask("set the volume to thirty percent")
        assert reply.stt == "set the volume to thirty percent"
        assert device.volume == 30
        assert_played_well(reply)
        reply = await device.ask("what is the volume")
        assert re.search(r"30|thirty", reply.text)
        assert_played_well(reply)
        assert_nothing_wrong(device)


async def tools_and_strange_words(server: RunningServer) -> None:
    """A tool that only this device has, added during the conversation; then an unknown request."""
    async with SimulatedDevice(server.device(mode="manual", version=3)) as device:
        reply = await device.press_to_talk("what time is it")
        assert re.search(r"\d", reply.text)
        assert_played_well(reply)
        device.add_tool(Tool(LAMP, "Turn on the lamp", (), lambda: True))
        await knows_tool(server, device, LAMP)
        reply = await device.press_to_talk("turn on the lamp")
        assert [call.name for call in device.mcp.calls] == [LAMP]
        assert_played_well(reply)
        reply = await device.press_to_talk("my grandmother bakes wonderful apple pies on sunday")
        assert "did not understand" in reply.text
        assert len(device.mcp.calls) == 1, "nothing was guessed"
        assert_played_well(reply)
        assert_nothing_wrong(device)


async def test_two_spoken_conversations() -> None:
    async with serving() as server:
        async with asyncio.TaskGroup() as group:
            group.create_task(settings_of_the_device(server))
            group.create_task(tools_and_strange_words(server))
        assert server.count("turn.outcome.answered") == 4
        assert server.count("turn.outcome.not_understood") == 1

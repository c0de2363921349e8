"""Many interruptions over a real socket: ``tts stop`` is the last message of each cut reply."""

from __future__ import annotations

import asyncio
import random

from firmware_test_client import SimulatedDevice
from tests.e2e.checks import received, what
from tests.e2e.harness import serving
from vixio.testing import ScriptedAgentBackend, ScriptedASR, ScriptedTTS, ScriptedVAD

DEVICES = 10
INTERRUPTIONS = 15
PACKET_S = 0.06
STORY = "One two three four five six seven eight nine ten. " * 4


async def interrupt_often(device: SimulatedDevice, phase: random.Random) -> None:
    """Cut replies at random phases of the pacer's schedule."""
    for number in range(INTERRUPTIONS):
        since = len(device.frames)
        await device.send_json({"type": "listen", "state": "detect", "text": f"story {number}"})
        await device.wait_for_frame("audio", since=since)
        # The head start is behind: from here on each packet waits for a timer.
        await asyncio.sleep(5 * PACKET_S + phase.uniform(0, PACKET_S))
        await device.abort()
        await device.wait_for_frame(
            "tts", since=since, where=lambda frame: what(frame) == "tts stop"
        )
        await asyncio.sleep(PACKET_S)
        await device.wait_for(device.connected_and_listening, what="the microphone")


def packets_after_stop(device: SimulatedDevice) -> int:
    """Count audio that arrived between a ``tts stop`` and the next ``tts start``."""
    count, speaking = 0, False
    for frame in received(device):
        if what(frame) in {"tts start", "tts stop"}:
            speaking = what(frame) == "tts start"
        elif frame.type == "audio" and not speaking:
            count += 1
    return count


async def test_no_packet_follows_the_stop() -> None:
    agent = ScriptedAgentBackend(lambda _: (STORY,))
    async with serving(
        vad=ScriptedVAD(), asr=ScriptedASR(), agent=agent, tts=ScriptedTTS()
    ) as server:
        devices = [SimulatedDevice(server.device(decode=False)) for _ in range(DEVICES)]
        try:
            async with asyncio.TaskGroup() as group:
                for device in devices:
                    group.create_task(device.start())
            async with asyncio.TaskGroup() as group:
                for seed, device in enumerate(devices):
                    phase = random.Random(seed)
                    group.create_task(interrupt_often(device, phase))
        finally:
            for device in devices:
                await device.close()
        stops = [frame for device in devices for frame in received(device)]
        assert sum(what(frame) == "tts stop" for frame in stops) >= DEVICES * INTERRUPTIONS
        assert [packets_after_stop(device) for device in devices] == [0] * DEVICES

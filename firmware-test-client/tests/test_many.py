"""Many devices in one process, each with its own answers."""

from __future__ import annotations

import asyncio
from typing import Any

from scripted_server import Conversation, ScriptedServer, tone_packets

from firmware_test_client import SimulatedDevice

PACKETS = tone_packets(8)


async def answer(talk: Conversation, body: dict[str, Any]) -> None:
    if body.get("state") == "detect":
        await talk.speak(PACKETS, f"You are {talk.headers['device-id']}.")


async def test_fifty_devices_at_once(server: ScriptedServer) -> None:
    server.on_json = answer
    devices = [
        SimulatedDevice(server.device(share_speech=True, decode=False, keep_frames=False))
        for _ in range(50)
    ]
    await asyncio.gather(*(device.start() for device in devices))
    replies = await asyncio.gather(*(device.type_text("who am I") for device in devices))
    for device, reply in zip(devices, replies, strict=True):
        assert reply.text == f"You are {device.config.device_id}."
        assert reply.played == len(PACKETS)
        assert device.frames == []
        assert device.heard == []
        assert device.counters.binary_in == len(PACKETS)
    await asyncio.gather(*(device.close() for device in devices))


async def test_nothing_is_left_behind(server: ScriptedServer) -> None:
    before = len(asyncio.all_tasks())
    for _ in range(3):
        async with SimulatedDevice(server.device()) as device:
            await device.say("hi")
    await server.talk.ended.wait()
    async with asyncio.timeout(30):
        while len(asyncio.all_tasks()) > before:
            await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()}, timeout=0.05)
    assert len(asyncio.all_tasks()) == before

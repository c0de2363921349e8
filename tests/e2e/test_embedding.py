"""A server inside a program of one's own, through the public interface alone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

from firmware_test_client import DeviceConfig, SimulatedDevice
from vixio import Priority, Server, Settings, SpeechStatus, ToolContext, events, tool

SECTIONS = {
    "server": {"host": "127.0.0.1", "port": 0, "http_port": 0},
    "memory": {"store": "none"},
    "assistant": {"filler_after": 0},  # on a busy machine any answer may take so long
}


@tool
def get_lucky_number(context: ToolContext) -> str:
    """Get the lucky number."""
    return f"seven for {context.device_id}"


async def test_it_is_used_watched_and_commanded() -> None:
    handlers = logging.getLogger().handlers[:]
    async with Server(Settings.model_validate(SECTIONS), tools=[get_lucky_number]) as server:
        await server.start()
        await server.loaded()
        assert server.http is not None
        ota = f"http://127.0.0.1:{server.http.port}/xiaozhi/ota/"
        with server.events.subscribe() as happening:
            async with SimulatedDevice(DeviceConfig(ota_url=ota)) as device:
                device_id = device.config.device_id
                reply = await device.type_text("what is the lucky number")
                assert reply.text == f"The lucky number is seven for {device_id}."
                session = server.sessions.find(device_id)
                assert session is not None
                speech = session.say("Dinner is ready.", priority=Priority.HIGH)
                async with asyncio.timeout(60):
                    outcome = await speech.played()
                assert outcome.status is SpeechStatus.PLAYED
                assert (await device.wait_for_reply(after=1)).text == "Dinner is ready."
            async with asyncio.timeout(60):
                kinds = [type(event) async for event in _until_closed(happening)]
        assert kinds[0] is events.SessionOpened
        assert {events.TurnEnded, events.ToolEnded, events.SpeechPlayed} <= set(kinds)
        assert happening.dropped == 0
    assert logging.getLogger().handlers == handlers, "an embedded server configures no logging"


async def _until_closed(happening: events.Subscription) -> AsyncIterator[events.Event]:
    async for event in happening:
        yield event
        if isinstance(event, events.SessionClosed):
            return

"""A device vanishes at each moment of a turn, in each way: in a second nothing is left of it."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Literal

import pytest

from firmware_test_client import SimulatedDevice
from tests.e2e.doubles import WaveformASR
from tests.e2e.harness import serving
from tests.e2e.stages import LONG_STORY, STAGES, Bench, bench, drill, knows_tool
from tests.support.waiting import until
from vixio.audio.codec import OpusDecoder
from vixio.core.session.session import Session
from vixio.testing import ScriptedTTS
from vixio.transports.xiaozhi.connection import XiaozhiConnection

How = Literal["reset", "fin", "clean"]

MOMENTS = ("listening", "user speaks", *STAGES)

NEVER = 600.0
"""Seconds that a stage is held: its device vanishes before, however long the others need."""

STORY = "once upon a time there was a little voice assistant that lived by the sea " * 6
"""Longer than the others need to get to their stages."""


async def come_to(bench: Bench, device: SimulatedDevice, moment: str) -> None:
    """Start the device and bring it to ``moment``."""
    device.add_tool(drill(NEVER), notify=False)
    await device.start()
    await knows_tool(bench.server, device, "self.bench.drill")
    if moment in STAGES:
        await bench.bring_to(device, moment)
        return
    await device.wait_for(lambda: device.listening, what="listening")
    if moment == "user speaks":
        saying = asyncio.create_task(device.say(STORY))
        session = bench.server.session(device.config.device_id)
        assert session is not None
        await until(lambda: session.user_speaking, what="the beginning of an utterance")
        saying.cancel()  # the user speaks on: only the waiting for the end is over
        await asyncio.wait([saying])


async def vanish(device: SimulatedDevice, how: How) -> None:
    if how == "clean":
        await device.disconnect()
    else:
        device.disconnect_hard(how)


@pytest.mark.websocket
@pytest.mark.parametrize("how", ["reset", "fin", "clean"])
async def test_nothing_is_left_of_a_device_that_vanished(how: How) -> None:
    async with bench(slow=NEVER, story=LONG_STORY * 5) as held:
        before = asyncio.all_tasks()
        devices = {moment: SimulatedDevice(held.server.device()) for moment in MOMENTS}
        try:
            async with asyncio.TaskGroup() as group:
                for moment, device in devices.items():
                    group.create_task(come_to(held, device, moment))
            sessions = [weakref.ref(session) for session in held.server.app.host.sessions]
            connections = _connections(held)
            assert len(sessions) == len(connections) == len(MOMENTS)
            busy = held.in_hand()
            assert busy["vad slots"] == len(MOMENTS)
            assert busy["asr streams"] == 2, "the user's who speaks, and the stage of its own"
            assert busy["asr finishing"] == 1
            assert busy["agents running"] >= 2, "model and tool"
            # Held, and speaking, which has none in hand between two sentences.
            await until(lambda: held.in_hand()["tts running"] == 2, what="both voices")
            assert sum(len(_pending(connection)) for connection in connections) == 1

            for device in devices.values():
                await vanish(device, how)
            await until(
                lambda: not held.server.app.host.sessions and not any(held.in_hand().values()),
                what="the end of all sessions",
            )
            await until(
                lambda: held.server.app.transport.stats()["connected"] == 0,
                what="the end of all connections",
            )
            for connection in connections:
                assert not _pending(connection)
                assert isinstance(connection._decoder, OpusDecoder)
                state = connection._decoder._state
                assert state is None or state.pointer is None
        finally:
            for device in devices.values():
                await device.close()
        await until(
            lambda: not {task for task in asyncio.all_tasks() - before if not task.done()},
            what="the end of all tasks",
        )
        connections.clear()
        held.agent.agents.clear()  # the scripted ones are kept, and know their devices' tools
        del connection
        await _freed(sessions)
        assert held.server.count("session.defect") == 0
        assert held.server.count("xiaozhi.closed.handler_failed") == 0


async def test_the_default_agent_keeps_nothing_of_a_session_that_is_over() -> None:
    async with serving(asr=WaveformASR({}), tts=ScriptedTTS()) as server:
        async with SimulatedDevice(server.device()) as device:
            await knows_tool(server, device, "self.audio_speaker.set_volume")
            await device.type_text("set the volume to thirty percent")
            assert device.volume == 30
            sessions = [weakref.ref(session) for session in server.app.host.sessions]
        await until(lambda: not server.app.host.sessions, what="the session's end")
        await _freed(sessions)


async def test_the_next_conversation_of_a_device_that_vanished() -> None:
    """It comes back at once, while the server may not have seen its end yet."""
    async with bench() as held:
        device = SimulatedDevice(held.server.device())
        try:
            await come_to(held, device, "speaking")
            device.disconnect_hard("half_open")
            again = SimulatedDevice(held.server.device(device_id=device.config.device_id))
            try:
                await again.start()
                reply = await again.type_text("anything")
                assert reply.text == "Fine."
                assert len(held.server.app.host.sessions) == 1
            finally:
                await again.close()
        finally:
            await device.close()


def _connections(held: Bench) -> list[XiaozhiConnection]:
    return list(held.server.app.transport._connections.values())


def _pending(connection: XiaozhiConnection) -> list[int]:
    feed = connection._tools
    return list(feed.client._pending) if feed is not None else []


async def _freed(sessions: list[weakref.ref[Session]]) -> None:
    """Wait until nothing holds them: a task that ends beside may be the last that does."""

    def freed() -> bool:
        gc.collect()
        return all(session() is None for session in sessions)

    await until(freed, what="the sessions to be freed", seconds=30)

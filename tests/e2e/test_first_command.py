"""The first thing that a device hears after it has connected may be a command for the device."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio

from firmware_test_client import McpFaults, Misbehaviour, Reply, SimulatedDevice, Tool
from firmware_test_client.speech import prepare
from tests.e2e.checks import assert_nothing_wrong
from tests.e2e.doubles import WaveformASR
from tests.e2e.harness import RunningServer, serving, settings
from tests.e2e.stages import knows_tool
from tests.support.waiting import until
from vixio.testing import ScriptedAgentBackend, ScriptedTTS

VOLUME = "self.audio_speaker.set_volume"
COMMAND = "set the volume to thirty percent"

SLOW = {"at once": 0.0, "in mid utterance": 0.4, "after the utterance": 1.3}
"""Seconds for each answer of the device. It gives two: to `initialize` and to `tools/list`."""


def voice() -> ScriptedTTS:
    """Return a voice that speaks quickly, because its speech is not checked."""
    return ScriptedTTS(seconds_per_char=0.01)


def slow(seconds: float) -> Misbehaviour:
    return Misbehaviour(mcp=McpFaults(delay=seconds))


@asynccontextmanager
async def switched_on(device: SimulatedDevice) -> AsyncIterator[SimulatedDevice]:
    """Boot the device without a connection, as one that waits for its button."""
    try:
        await device.boot()
        yield device
    finally:
        await device.close()


def assert_done(device: SimulatedDevice, reply: Reply) -> None:
    assert reply.stt == COMMAND
    assert [call.name for call in device.mcp.calls] == [VOLUME]
    assert device.volume == 30
    assert_nothing_wrong(device)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def listener() -> AsyncIterator[RunningServer]:
    """A server that recognises speech, for devices that it has not met before."""
    async with serving(tts=voice()) as server:
        yield server


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("delay", SLOW.values(), ids=SLOW)
async def test_push_to_talk_that_opens_the_connection(
    listener: RunningServer, delay: float
) -> None:
    config = listener.device(mode="manual", misbehaviour=slow(delay))
    async with switched_on(SimulatedDevice(config)) as device:
        assert_done(device, await device.press_to_talk(COMMAND))


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("mode", "delay"), [*(("auto", delay) for delay in SLOW.values()), ("realtime", 0.4)]
)
async def test_speech_right_after_the_hello(
    listener: RunningServer, mode: str, delay: float
) -> None:
    device = SimulatedDevice(listener.device(mode=mode, misbehaviour=slow(delay)))
    await prepare(COMMAND, device.config.voice, device.config.uplink_rate)  # not meanwhile
    async with device:
        assert_done(device, await device.ask(COMMAND))


@pytest.mark.parametrize("delay", SLOW.values(), ids=SLOW)
async def test_typed_at_once_on_five_fresh_connections(delay: float) -> None:
    async def command(server: RunningServer) -> None:
        async with SimulatedDevice(server.device(misbehaviour=slow(delay))) as device:
            assert_done(device, await device.type_text(COMMAND))

    async with (
        serving(asr=WaveformASR({}), tts=voice()) as server,
        asyncio.TaskGroup() as group,
    ):
        for _ in range(5):
            group.create_task(command(server))


async def test_a_model_is_given_all_tools_in_the_first_turn() -> None:
    agent = ScriptedAgentBackend()
    async with serving(asr=WaveformASR({}), agent=agent, tts=voice()) as server:
        device = SimulatedDevice(server.device(misbehaviour=slow(0.2)))
        for number in range(60):
            name = f"self.shelf.slot_{number}.open"
            device.add_tool(Tool(name, "Open a slot. " * 20, (), lambda: True), notify=False)
        async with device:
            await device.type_text("hello")
            asked = {tool.name for tool in agent.agents[0].asked_with[0]}
            assert {tool.name for tool in device.mcp.tools if not tool.user_only} <= asked


async def test_a_turn_does_not_wait_for_ever() -> None:
    faults = Misbehaviour(mcp=McpFaults(never_answer=frozenset({"initialize"})))
    config = settings(timeouts={"tool_list": 0.3})
    async with (
        serving(config, asr=WaveformASR({}), tts=voice()) as server,
        SimulatedDevice(server.device(misbehaviour=faults)) as device,
    ):
        assert (await device.type_text("hello")).text
        assert server.count("turn.without_device_tools") == 1


async def test_without_tools_nothing_is_waited_for() -> None:
    async with (
        serving(asr=WaveformASR({}), tts=voice()) as server,
        SimulatedDevice(server.device(mcp=False)) as device,
    ):
        assert (await device.type_text("hello")).text
        assert server.count("turn.waited_for_tools") == 0


async def connected_before(server: RunningServer, device_id: str) -> None:
    """Let a device connect, list its tools and leave."""
    async with SimulatedDevice(server.device(device_id=device_id)) as device:
        await knows_tool(server, device, VOLUME)
    await until(lambda: not server.app.host.sessions, what="the end of the first session")


ID = "02:00:00:00:00:09"


async def test_the_last_list_serves_until_the_new_one_is_there() -> None:
    async with serving(asr=WaveformASR({}), tts=voice()) as server:
        await connected_before(server, ID)
        faults = slow(1.3)
        async with SimulatedDevice(server.device(device_id=ID, misbehaviour=faults)) as device:
            await knows_tool(server, device, VOLUME)
            session = server.session(ID)
            assert session is not None
            version = session.context.tools.version
            assert_done(device, await device.type_text(COMMAND))
            assert server.count("turn.waited_for_tools") == 0
            assert session.context.tools.version == version, "the same list again is no change"


async def test_a_new_list_takes_the_place_of_the_last_one() -> None:
    async with serving(asr=WaveformASR({}), tts=voice()) as server:
        await connected_before(server, ID)
        device = SimulatedDevice(server.device(device_id=ID, misbehaviour=slow(0.3)))
        device.remove_tool(VOLUME, notify=False)
        async with device:
            await knows_tool(server, device, VOLUME)
            reply = await device.type_text(COMMAND)
            assert "Sorry" in reply.text, "the call waited for the list, which has no such tool"
            assert not device.mcp.calls
            session = server.session(ID)
            assert session is not None
            known = {tool.name for tool in session.context.tools.definitions()}
            assert VOLUME not in known

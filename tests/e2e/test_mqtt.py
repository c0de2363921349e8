"""Devices that are always connected: MQTT and UDP through the real server."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from weakref import WeakSet

import pytest

from firmware_test_client import Network, SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.harness import RunningServer, serving, settings
from tests.e2e.test_reminders import KITCHEN, deliveries, heard, house, order, settled, typed
from tests.support.servers import free_ports
from tests.support.waiting import until
from vixio.audio import codec
from vixio.audio.libopus import LibopusState
from vixio.core.pacer import Pacer
from vixio.core.session.reply import Reply
from vixio.core.session.session import Session
from vixio.core.session.speech import SpeechStatus
from vixio.data.reminders.records import State
from vixio.server import Providers, Server
from vixio.settings import Settings
from vixio.testing import ScriptedASR, ScriptedTTS, ScriptedVAD
from vixio.transports.xiaozhi import standing

MQTT: dict[str, object] = {"port": 0, "udp_port": 0}
NEWS = "The washing machine is done."


@asynccontextmanager
async def idle(server: RunningServer, **options: Any) -> AsyncIterator[SimulatedDevice]:  # noqa: ANN401
    """A device that nobody talks to, connected to MQTT."""
    config = {"device_id": KITCHEN, "listen_on_connect": False, **options}
    async with SimulatedDevice(server.device(**config)) as device:
        await until(lambda: server.session(KITCHEN) is not None, what="a session")
        yield device


def session(server: RunningServer) -> Session:
    found = server.session(KITCHEN)
    assert found is not None
    return found


async def test_a_device_that_ota_sends_to_mqtt_converses() -> None:
    async with (
        serving(settings(mqtt=MQTT)) as server,
        SimulatedDevice(server.device()) as device,
    ):
        first = await device.ask("what time is it")
        assert_played_well(first)
        await device.disconnect()  # says goodbye, and stays connected
        await until(lambda: server.app.host.sessions.find(device.config.device_id) is not None)
        second = await device.ask("what day is it today")
        assert_played_well(second)
        assert_nothing_wrong(device)
        assert server.count("xiaozhi.connections") == 1
        assert server.count("xiaozhi.conversations") == 2


async def test_an_idle_device_is_reminded_answers_and_is_idle_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("vixio.core.session.idle_time.ANSWER_S", 1.0)
    parts: dict[str, Any] = {
        **typed(),
        "vad": ScriptedVAD(),
        "asr": ScriptedASR(["what timers are running"]),
    }
    async with (
        serving(house(mqtt=MQTT), **parts) as server,
        idle(server, speak_request=True) as device,
    ):
        await order(server, KITCHEN, text="water the plants")
        server.app.reminders.service.on_change()
        reply = await heard(device, "water the plants")
        assert_played_well(reply)
        (over,) = await settled(server, 1)
        assert over.state is State.DELIVERED
        await device.wait_for(device.connected_and_listening, what="listening for an answer")
        assert session(server).connection.awake
        # Nobody answers: without a word it is idle again, and still connected.
        await until(lambda: not session(server).connection.awake, what="idle")
        await device.wait_for(lambda: device.state.name == "IDLE", what="idle")
        assert len(device.replies) == 1
        assert session(server).state == "idle"
        assert_nothing_wrong(device)


async def test_the_user_answers_a_device_that_was_roused() -> None:
    parts: dict[str, Any] = {
        "vad": ScriptedVAD(),
        "asr": ScriptedASR(["what time is it"]),
        "tts": ScriptedTTS(),
    }
    async with (
        serving(settings(mqtt=MQTT), **parts) as server,
        idle(server, speak_request=True) as device,
    ):
        outcome = await session(server).say(NEWS).played()
        assert outcome.status is SpeechStatus.PLAYED
        assert session(server).connection.roused
        reply = await device.ask("what time is it")
        assert_played_well(reply)
        assert not session(server).connection.roused


async def test_a_firmware_that_cannot_be_roused_shows_it_and_says_it_at_the_next_contact(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(standing, "ROUSE_S", 0.3)
    monkeypatch.setattr("vixio.data.reminders.deliverer.CONTACT_S", 0.2)
    async with (
        serving(house(mqtt=MQTT), **typed()) as server,
        idle(server, speak_request=False) as device,
    ):
        await order(server, KITCHEN, text="water the plants")
        server.app.reminders.service.on_change()
        await device.wait_for(lambda: bool(device.notices), what="a notice")
        assert "water the plants" in device.notices[0].message
        assert [each.state for each in await deliveries(server)] == [State.PENDING]
        for number in range(standing.MISSES):  # it is asked once more, and then no longer
            outcome = await session(server).say(f"{NEWS} {number}").played()
            assert outcome.status is SpeechStatus.SHOWN
        assert server.count("xiaozhi.speak_requests") == standing.MISSES
        assert len([each for each in device.notices if "plants" in each.message]) == 1
        await device.toggle()
        await heard(device, "water the plants")
        (over,) = await settled(server, 1)
        assert over.state is State.DELIVERED


async def test_a_device_whose_audio_is_blocked_shows_it_and_does_not_wait_for_a_voice() -> None:
    blocked = Network(loss=1.0)
    async with (
        serving(settings(mqtt=MQTT), **typed()) as server,
        idle(server, speak_request=True, udp_uplink=blocked) as device,
    ):
        outcome = await session(server).say(NEWS).played()
        assert outcome.status is SpeechStatus.SHOWN
        assert server.count("udp.unreached") == 1
        await device.wait_for(lambda: bool(device.notices), what="a notice")
        (notice,) = device.notices
        assert notice.message == NEWS
        await device.wait_for(lambda: device.screen_settled, what="a settled screen")
        assert notice.cleared is None


async def test_a_device_that_is_ready_too_late_is_not_left_waiting() -> None:
    async with (
        serving(settings(mqtt=MQTT), **typed()) as server,
        idle(server, speak_request=True) as device,
    ):
        speech = session(server).say(NEWS)
        await until(lambda: server.count("xiaozhi.speak_requests") == 1, what="the request")
        speech.cancel()
        await device.wait_for(lambda: device.state != "idle", what="a device that wakes")
        await device.wait_for_state("idle")
        assert not device.replies


async def test_tools_of_an_idle_device_are_called() -> None:
    async with serving(settings(mqtt=MQTT), **typed()) as server, idle(server) as device:
        tools = session(server).context.tools
        await until(lambda: len(tools.definitions()) > 0, what="its tools")
        assert server.count("xiaozhi.conversations") == 0
        assert device.state.name == "IDLE"


async def test_an_idle_device_keeps_nothing_of_its_conversation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It stands for days: what decodes, and the packets of the last answer, are free again."""
    states: WeakSet[LibopusState] = WeakSet()

    def make(*parts: Any) -> LibopusState:  # noqa: ANN401  ctypes objects
        states.add(made := LibopusState(*parts))
        return made

    def answers() -> list[object]:
        return [each for each in gc.get_objects() if type(each) in (Reply, Pacer)]

    monkeypatch.setattr(codec, "LibopusState", make)
    before = answers()  # what a test before this one has left, and pytest keeps for its report
    async with (
        serving(settings(mqtt=MQTT)) as server,
        SimulatedDevice(server.device(device_id=KITCHEN)) as device,
    ):
        await device.ask("what time is it")
        assert [each for each in answers() if each not in before]
        assert any(state.pointer is not None for state in states)
        await device.disconnect()
        await until(lambda: not session(server).connection.awake, what="idle")
        gc.collect()
        assert all(state.pointer is None for state in states)
        assert not [each for each in answers() if each not in before]


async def test_a_hello_in_mid_conversation_replaces_it() -> None:
    async with (
        serving(settings(mqtt=MQTT), **typed()) as server,
        SimulatedDevice(server.device(device_id=KITCHEN)) as device,
    ):
        await device.type_text("what time is it")
        await device.reconnect()
        await device.type_text("what time is it")
        assert server.count("xiaozhi.connections") == 1
        await asyncio.sleep(0)
        assert session(server).connection.awake


async def test_another_mqtt_connection_of_the_device_takes_its_place() -> None:
    async with (
        serving(settings(mqtt=MQTT), **typed()) as server,
        idle(server) as first,
    ):
        old = session(server)
        async with SimulatedDevice(server.device(device_id=KITCHEN)) as second:
            await until(lambda: server.session(KITCHEN) not in (None, old), what="the newer one")
            await second.type_text("what time is it")
            assert server.count("xiaozhi.closed.replaced") == 1
        del first


BAD = Network(loss=0.05, duplicate=0.05, reorder=0.05, jitter_ms=300, seed=4)
STORY = "One sentence of a story that goes on for a while. " * 8


async def test_on_a_bad_network_speech_is_shorter_by_what_is_lost_and_nothing_else() -> None:
    voice = ScriptedTTS(seconds_per_char=0.02)
    parts: dict[str, Any] = {"vad": ScriptedVAD(), "asr": ScriptedASR([""]), "tts": voice}
    async with (
        serving(settings(mqtt=MQTT), **parts) as server,
        idle(server, speak_request=True, udp_uplink=BAD, udp_downlink=BAD) as device,
    ):
        outcome = await session(server).say(STORY).played()
        assert outcome.status is SpeechStatus.PLAYED
        reply = device.replies[-1]
        await device.wait_for(lambda: reply.ended is not None, what="its end")
        made = len(STORY) * 0.02
        missing = made - reply.heard.duration
        lost = device.counters.udp_lost
        assert lost > 0
        assert -0.1 < missing < 0.06 * (lost + 3)
        assert_nothing_wrong(device)
        reply = await device.ask("what time is it")
        assert reply.ended


async def test_a_nat_that_moves_the_device_costs_some_packets() -> None:
    async with (
        serving(settings(mqtt=MQTT)) as server,
        SimulatedDevice(server.device()) as device,
    ):
        assert_played_well(await device.ask("what time is it"))
        device.misdeeds.change_udp_port()
        assert_played_well(await device.ask("what day is it today"))
        assert server.count("udp.moved") == 1
        assert_nothing_wrong(device)


async def test_a_server_that_comes_back_reaches_its_devices_again() -> None:
    """Also one that was in a conversation, which ends with the server."""
    mqtt_port, udp_port = free_ports(2)
    here = settings(mqtt={"port": mqtt_port, "udp_port": udp_port})
    device: SimulatedDevice | None = None
    try:
        for _ in range(2):
            async with started(here) as server:
                if device is None:
                    device = SimulatedDevice(
                        server.device(device_id=KITCHEN, listen_on_connect=False, mqtt_retry=0.2)
                    )
                    await device.start()
                await until(lambda: server.session(KITCHEN) is not None, what="the device")
                outcome = await session(server).say(NEWS).played()
                assert outcome.status is SpeechStatus.PLAYED
                await device.wait_for(device.connected_and_listening, what="a conversation")
            await device.wait_for_state("idle")
    finally:
        if device is not None:
            await device.close()


async def test_a_conversation_that_a_dead_server_left_is_ended_by_the_next_one() -> None:
    async with (
        serving(settings(mqtt=MQTT), **typed()) as server,
        SimulatedDevice(server.device(device_id=KITCHEN, mqtt_retry=0.2)) as device,
    ):
        await device.wait_for(device.connected_and_listening, what="a conversation")
        old = session(server)
        old.connection._channel.abort()  # type: ignore[attr-defined]
        await until(lambda: server.session(KITCHEN) not in (None, old), what="the next session")
        await device.wait_for_state("idle")
        outcome = await session(server).say(NEWS).played()
        assert outcome.status is SpeechStatus.PLAYED


@asynccontextmanager
async def started(config: Settings) -> AsyncIterator[RunningServer]:
    """A server that a device outlives."""
    async with Server(config, Providers(**typed())) as app:
        await app.start()
        await app.loaded()
        assert app.http is not None
        yield RunningServer(app, f"http://127.0.0.1:{app.http.port}/xiaozhi/ota/", "", "")

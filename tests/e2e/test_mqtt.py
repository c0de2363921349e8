"""Devices that are always connected: MQTT and UDP through the real server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from firmware_test_client import SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.harness import RunningServer, serving, settings
from tests.e2e.test_reminders import KITCHEN, deliveries, heard, house, order, settled, typed
from tests.support.waiting import until
from vixio.core.session.session import Session
from vixio.core.session.speech import SpeechStatus
from vixio.data.reminders.records import State
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
    async with serving(house(mqtt=MQTT), **typed()) as server, idle(server) as device:
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


async def test_tools_of_an_idle_device_are_called() -> None:
    async with serving(settings(mqtt=MQTT), **typed()) as server, idle(server) as device:
        tools = session(server).context.tools
        await until(lambda: len(tools.definitions()) > 0, what="its tools")
        assert server.count("xiaozhi.conversations") == 0
        assert device.state.name == "IDLE"


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

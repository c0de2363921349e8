"""Devices through the front and Debian's Mosquitto, with the documented users and rules."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from paho.mqtt import publish

from firmware_test_client import SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well, received
from tests.e2e.harness import RunningServer, serving, settings
from tests.e2e.test_mqtt import NEWS, idle, session
from tests.e2e.test_reminders import KITCHEN, typed
from tests.support.certificates import self_made
from tests.support.mosquitto import DEVICE, SERVER, Mosquitto
from tests.support.waiting import until
from vixio.core.session.speech import SpeechStatus
from vixio.testing import ScriptedTTS
from vixio.transports.xiaozhi.mqtt import broker as broker_module
from vixio.transports.xiaozhi.mqtt.front import FrontLink


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Mosquitto]:
    """Run a broker."""
    broker = Mosquitto(tmp_path)
    broker.start()
    yield broker
    broker.kill()


def section(broker: Mosquitto, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the section ``mqtt``."""
    return {"port": 0, "udp_port": 0, "broker": broker.section(**more)}


@asynccontextmanager
async def at(broker: Mosquitto, **parts: Any) -> AsyncIterator[RunningServer]:  # noqa: ANN401
    """Run a server that is connected to the broker."""
    mqtt = {"port": 0, "udp_port": 0, "broker": broker.section()}
    async with serving(settings(mqtt=mqtt), **parts) as server:
        await until(lambda: not problem(server), what="the broker")
        yield server


def problem(server: RunningServer) -> str:
    assert server.app.mqtt is not None
    return server.app.mqtt.carrier.problem()


async def test_a_device_converses(broker: Mosquitto) -> None:
    async with at(broker) as server, SimulatedDevice(server.device()) as device:
        assert_played_well(await device.ask("what time is it"))
        await device.disconnect()
        assert_played_well(await device.ask("what day is it today"))
        assert_nothing_wrong(device)
        assert server.count("xiaozhi.connections") == 1
        assert server.count("xiaozhi.conversations") == 2
        assert server.count("mqtt.broker.connects") == 1
        assert server.count("mqtt.broker.dropped") == 0


async def test_an_idle_device_speaks(broker: Mosquitto) -> None:
    async with (
        at(broker, **{**typed(), "tts": ScriptedTTS()}) as server,
        idle(server, speak_request=True) as device,
    ):
        outcome = await session(server).say(NEWS).played()
        assert outcome.status is SpeechStatus.PLAYED
        tools = session(server).context.tools
        await until(lambda: len(tools.definitions()) > 0, what="its tools")
        assert device.config.device_id == KITCHEN


async def test_the_server_closes_a_device_after_its_last_words(broker: Mosquitto) -> None:
    async with at(broker, **typed()) as server, idle(server, mqtt_retry=None) as device:
        (link,) = links(server)
        for number in range(50):
            assert link.publish(json.dumps({"type": "custom", "number": number}).encode())
        await link.close()
        await device.wait_for(lambda: of_type(device, "custom") == 50, what="all of them")


@pytest.mark.parametrize("how", ["kill", "stop"])
async def test_a_broker_that_dies_or_hangs_costs_the_conversation(
    broker: Mosquitto, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, how: str
) -> None:
    monkeypatch.setattr(broker_module, "SILENCE_S", 1.0)
    monkeypatch.setattr(broker_module, "PING_S", 0.2)
    async with at(broker, **typed()) as server, idle(server, pause_scale=0.01) as device:
        caplog.set_level(logging.INFO, logger="vixio.bus.upkeep")
        getattr(broker, how)()
        await until(lambda: server.session(KITCHEN) is None, what="the end of its session")
        assert problem(server)
        await until(lambda: server.count("mqtt.refused.broker") > 0, what="a refusal")
        broker.start() if how == "kill" else broker.go_on()
        await until(lambda: server.session(KITCHEN) is not None, what="a session again")
        assert not problem(server)
        assert server.count("mqtt.closed.broker") == 1
        await device.type_text("what time is it")
        lines = [record.getMessage() for record in caplog.records if record.levelno >= logging.INFO]
        assert lines.count("broker not connected") == lines.count("broker connected") == 1


async def test_a_server_starts_without_its_broker(broker: Mosquitto) -> None:
    broker.kill()
    mqtt = {"port": 0, "udp_port": 0, "broker": broker.section()}
    async with serving(settings(mqtt=mqtt), **typed()) as server:
        await until(lambda: "connect" in problem(server), what="the reason")
        checks = {each.name: each.reason for each in server.app.readiness.results()}
        assert checks["mqtt"] == problem(server)
        broker.start()
        await until(lambda: not problem(server), what="the broker")
        async with idle(server):
            assert not problem(server)


async def test_rules_that_forbid_devices_are_said(tmp_path: Path) -> None:
    broker = Mosquitto(tmp_path)
    broker.start()
    try:
        mqtt = {"port": 0, "udp_port": 0, "broker": broker.section(device_password="wrong")}
        async with serving(settings(mqtt=mqtt), **typed()) as server:
            await until(lambda: "as a device: " in problem(server), what="the reason")
    finally:
        broker.kill()


async def test_two_nodes_before_one_broker(broker: Mosquitto) -> None:
    async with (
        at(broker, **typed()) as one,
        at(broker, **typed()) as other,
        idle(one, mqtt_retry=None),
    ):
        (link,) = links(one)
        async with idle(other, mqtt_retry=None):
            await until(lambda: one.session(KITCHEN) is None, what="the end at the first node")
            (newer,) = links(other)
            assert not link.publish(b"{}")
            assert newer.publish(b"{}")
            assert one.count("mqtt.broker.dropped") == other.count("mqtt.broker.dropped") == 0


async def test_what_the_broker_has_retained_is_of_another_time(broker: Mosquitto) -> None:
    for (user, password), topic in ((SERVER, "down"), (DEVICE, "up")):
        await asyncio.to_thread(
            publish.single,
            f"vixio/{topic}/{KITCHEN}",
            '{"type":"custom"}',
            retain=True,
            port=broker.port,
            client_id=KITCHEN,
            auth={"username": user, "password": password},
        )
    async with at(broker, **typed()) as server, idle(server) as device:
        await until(lambda: server.count("mqtt.broker.dropped") == 2, what="both")
        (link,) = links(server)
        link.publish(b'{"type":"custom"}')
        await until(lambda: of_type(device, "custom") == 1, what="that of now")
        assert server.count("xiaozhi.ignored.unknown_type") == 0


async def test_the_connections_to_the_broker_may_be_encrypted(tmp_path: Path) -> None:
    _, certificate = self_made(tmp_path)
    broker = Mosquitto(tmp_path, certificate=certificate)
    broker.start()
    try:
        tls = {"ca": str(certificate)}
        mqtt = {"port": 0, "udp_port": 0, "broker": broker.section(tls=tls)}
        async with serving(settings(mqtt=mqtt), **typed()) as server:
            await until(lambda: not problem(server), what="the broker")
            async with idle(server) as device:
                await device.type_text("what time is it")
        mqtt["broker"] = broker.section()  # a certificate that nobody vouches for
        async with serving(settings(mqtt=mqtt), **typed()) as server:
            await until(lambda: "certificate" in problem(server), what="the reason")
    finally:
        broker.kill()


def links(server: RunningServer) -> list[FrontLink]:
    assert server.app.mqtt is not None
    return list(cast("Any", server.app.mqtt.carrier)._channels)


def of_type(device: SimulatedDevice, kind: str) -> int:
    return sum(frame.type == kind for frame in received(device))

"""Devices at a broker that subscribes for them: a stand-in with EMQX's documented behaviour."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
import pytest_asyncio

from firmware_test_client import SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.harness import RunningServer, serving, settings
from tests.e2e.test_mqtt import NEWS, idle, session
from tests.e2e.test_reminders import KITCHEN, typed
from tests.support.emqx import Emqx
from tests.support.servers import free_port
from tests.support.waiting import until
from vixio.cli.diagnostics.check_broker import try_broker
from vixio.core.errors import ConfigError
from vixio.core.session.speech import SpeechStatus
from vixio.settings.mqtt import BrokerSection
from vixio.testing import ScriptedTTS
from vixio.transports.xiaozhi.mqtt import broker as broker_module


@pytest_asyncio.fixture
async def broker() -> AsyncIterator[Emqx]:
    """Run the stand-in."""
    broker = Emqx()
    await broker.start()
    yield broker
    await broker.stop()


@asynccontextmanager
async def at(broker: Emqx, **parts: Any) -> AsyncIterator[RunningServer]:  # noqa: ANN401
    """Run a server whose devices connect to the broker."""
    mqtt = {
        "address": "127.0.0.1",
        "port": broker.port,
        "udp_port": 0,
        "broker": broker.section(),
    }
    http_port = free_port()
    broker.server_http = f"http://127.0.0.1:{http_port}"
    async with serving(settings(mqtt=mqtt, server={"http_port": http_port}), **parts) as server:
        mqtt_server = server.app.mqtt
        assert mqtt_server is not None
        await until(lambda: not mqtt_server.carrier.problem(), what="the broker")
        yield server


async def test_a_device_converses(broker: Emqx) -> None:
    async with at(broker) as server:
        async with SimulatedDevice(server.device()) as device:
            assert_played_well(await device.ask("what time is it"))
            await device.disconnect()
            assert_played_well(await device.ask("what day is it today"))
            assert_nothing_wrong(device)
            assert server.count("xiaozhi.connections") == 1
            assert server.count("xiaozhi.conversations") == 2
            assert server.count("http.mqtt.allowed") == 2  # the server's own, and the device's
            assert server.count("mqtt.broker.kicked") == 0
            assert broker.denied == []
        await until(lambda: not server.app.host.sessions, what="the end of its session")


async def test_an_idle_device_speaks(broker: Emqx) -> None:
    async with (
        at(broker, **{**typed(), "tts": ScriptedTTS()}) as server,
        idle(server, speak_request=True),
    ):
        outcome = await session(server).say(NEWS).played()
        assert outcome.status is SpeechStatus.PLAYED


def drop_the_server(broker: Emqx) -> None:
    (own,) = [each for each in broker.clients.values() if each.user == "vixio-server"]
    own.writer.transport.abort()


async def test_devices_of_before_the_servers_start_come_back_and_are_checked(broker: Emqx) -> None:
    async with at(broker, **typed()) as server, idle(server, pause_scale=0.01):
        first, mqtt = session(server), server.app.mqtt
        assert mqtt is not None
        cast("Any", mqtt.carrier)._listener._known.clear()  # as after a restart
        drop_the_server(broker)
        await until(lambda: server.session(KITCHEN) not in {None, first}, what="another session")
        assert server.count("mqtt.broker.kicked") == 1


async def test_a_broker_that_is_gone_costs_the_conversation(broker: Emqx) -> None:
    async with at(broker, **typed()) as server, idle(server, pause_scale=0.01) as device:
        await broker.stop()
        await until(lambda: server.session(KITCHEN) is None, what="the end of its session")
        mqtt = server.app.mqtt
        assert mqtt is not None
        assert mqtt.carrier.problem()
        await broker.start()
        await until(lambda: server.session(KITCHEN) is not None, what="a session again")
        assert not mqtt.carrier.problem()
        assert server.count("mqtt.broker.losses") == 1
        assert device.state.name == "IDLE"


async def test_a_loss_of_the_servers_connection_alone_costs_no_device_its_own(
    broker: Emqx,
) -> None:
    async with at(broker, **typed()) as server, idle(server):
        first = session(server)
        (own,) = [each for each in broker.clients.values() if each.user == "vixio-server"]
        own.writer.transport.abort()
        await until(lambda: server.session(KITCHEN) not in {None, first}, what="another session")
        assert server.count("mqtt.broker.kicked") == 0
        assert server.count("http.mqtt.allowed") == 3
        await asyncio.sleep(0)


async def test_an_idle_device_is_not_taken_for_dead(
    broker: Emqx, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker_module, "PING_S", 0.05)
    async with at(broker, **typed()) as server, idle(server):
        first, mqtt = session(server), server.app.mqtt
        assert mqtt is not None
        tools = first.context.tools
        await until(lambda: len(tools.definitions()) > 0, what="its tools")
        (channel,) = cast("Any", mqtt.carrier)._channels.values()
        heard = channel.last_heard
        await until(lambda: channel.last_heard > heard, what="a sign of life, without a word")


async def test_check_tries_the_broker(broker: Emqx) -> None:
    section = BrokerSection.model_validate(broker.section())
    with pytest.raises(ConfigError, match="The server has to run"):
        await try_broker(section)
    async with at(broker, **typed()):
        assert "logged in" in await try_broker(section)
        broker.rules.insert(0, ("deny", "vixio-server", "subscribe", [(False, "vixio/presence/+")]))
        with pytest.raises(ConfigError, match="its rules do not allow it"):
            await try_broker(section)
        broker.config["authentication"] = []
        with pytest.raises(ConfigError, match="without asking the server"):
            await try_broker(section)


KNOWN: dict[str, Any] = {
    # emqx_authn_http_schema, fields(http_post) and common_fields
    "authentication": [
        {
            "mechanism": "password_based",
            "backend": "http",
            "method": "post",
            "url": str,
            "headers": {str: str},
            "body": {str: str},
        }
    ],
    # docs.emqx.com, "Authorization" and "Use ACL File"; emqx_authz_file_schema
    "authorization": {
        "no_match": ("allow", "deny"),
        "deny_action": ("ignore", "disconnect"),
        "sources": [{"type": "file", "enable": bool, "path": str}],
    },
    # emqx_auto_subscribe_schema, fields("topic")
    "auto_subscribe": {"topics": [{"topic": str, "qos": (0, 1, 2)}]},
    # emqx_schema, fields("mqtt"): bytesize()
    "mqtt": {"max_packet_size": str},
    # emqx_rule_engine_schema, fields("rules"), fields("republish_args")
    "rule_engine": {
        "rules": {
            str: {
                "sql": str,
                "actions": [
                    {
                        "function": "republish",
                        "args": {"topic": str, "qos": (0, 1, 2), "retain": bool, "payload": str},
                    }
                ],
            }
        }
    },
}
"""The part of EMQX's schema that the documented configuration uses, from its documentation and the
schema modules of its sources (5.8)."""


def fits(value: object, form: object) -> bool:
    if isinstance(form, dict):
        return isinstance(value, dict) and all(
            fits(each, form.get(key, form.get(str))) for key, each in value.items()
        )
    if isinstance(form, list):
        return isinstance(value, list) and all(fits(each, form[0]) for each in value)
    if isinstance(form, tuple):
        return value in form
    return isinstance(value, form) if isinstance(form, type) else value == form


def test_the_documented_configuration_fits_the_schema() -> None:
    config = Emqx().config
    assert fits(config, KNOWN)
    assert not fits({**config, "auto_subscribe": {"topic": []}}, KNOWN)
    (rule,) = config["rule_engine"]["rules"].values()
    # Columns of both events: emqx_rule_events, eventmsg_connected and eventmsg_disconnected.
    selected = rule["sql"].partition(" FROM ")[0].removeprefix("SELECT ").split(", ")
    assert set(selected) == {"clientid", "username", "peername", "event"}
    for text in (rule["actions"][0]["args"]["topic"], rule["actions"][0]["args"]["payload"]):
        assert set(re.findall(r"\$\{(\w+)\}", text)) <= set(selected)

"""The section ``mqtt`` of the OTA answer, through real HTTP and a real registry."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.support.registry import device_tokens, memory_registry
from tests.support.waiting import until
from tests.unit.web.http.test_server import request
from vixio.composition.ports import ota_settings
from vixio.core.metrics import Counters
from vixio.data.devices.records import AccessMode, Carrier
from vixio.data.devices.registry import DeviceRegistry
from vixio.settings import Settings
from vixio.settings.mqtt import MqttSection
from vixio.transports.admission.access import OtaDecision
from vixio.transports.admission.admission import Admission, AdmissionSettings
from vixio.transports.admission.identity import Identity, read_user_name
from vixio.transports.admission.limits import Limits
from vixio.web.http.app import create_http_app
from vixio.web.http.ota import OtaSettings, ota_answer
from vixio.web.http.server import HttpServer

KITCHEN = "02:00:00:00:00:01"
CLIENT = "7b94d69a-9808-4c59-9c9b-704333b38aff"
BY_MQTT = OtaDecision(admitted=True, token="t", mqtt=True)


def answered(
    settings: OtaSettings | None = None,
    *,
    decision: OtaDecision = BY_MQTT,
    own_host: str = "10.0.0.1",
    identity: Identity | None = Identity(KITCHEN, CLIENT),  # noqa: B008 - frozen
    trusted: bool = False,
    **headers: str,
) -> dict[str, Any]:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return ota_answer(
        settings or OtaSettings(mqtt_port=lambda: 1883),
        given,
        b"",
        own_host,
        decision=decision,
        trust_forwarded=trusted,
        identity=identity,
    )


def test_a_broker_elsewhere_is_not_where_the_audio_is() -> None:
    settings = OtaSettings(
        mqtt_port=lambda: 1883, mqtt_address="mqtt.example.org", mqtt_elsewhere=True
    )
    answer = answered(settings, host="192.168.1.5:8003")
    assert answer["mqtt"]["endpoint"] == "mqtt.example.org:1883"
    assert answer["mqtt"]["username"] == f"{CLIENT}@192.168.1.5"
    assert "mqtt" not in answered(settings, host="[fd00::5]:8003"), "audio needs IPv4 too"


def test_what_a_device_needs() -> None:
    answer = answered(host="192.168.1.5:8003")
    assert answer["mqtt"] == {
        "endpoint": "192.168.1.5:1883",
        "client_id": KITCHEN,
        "username": f"{CLIENT}@192.168.1.5",
        "password": "t",
        "keepalive": 120,
        "publish_topic": f"vixio/up/{KITCHEN}",
        "subscribe_topic": "null",
    }
    assert answer["websocket"]["token"] == "t", "for clients without MQTT"
    assert all(len(key) <= 15 for key in answer["mqtt"]), "the firmware's NVS takes no longer ones"
    open_to_all = answered(decision=OtaDecision(admitted=True, mqtt=True))
    assert open_to_all["mqtt"]["password"] == "open"


@pytest.mark.parametrize(
    ("headers", "endpoint"),
    [
        ({"host": "vixio.local"}, "vixio.local:1883"),
        ({}, "10.0.0.1:1883"),
        ({"host": 'evil"/path'}, "10.0.0.1:1883"),
        ({"host": "h:1", "x_forwarded_host": "evil.example"}, "h:1883"),
        (
            {"host": "h:1", "trusted": True, "x_forwarded_host": "voice.example:8443"},
            "voice.example:1883",
        ),
        ({"host": "[fd00::20]:8003"}, None),
        ({"host": "[1:2:3:::::]"}, None),
        ({"own_host": "[fe80::1]"}, None),
        ({"trusted": True, "x_forwarded_host": "[fd00::20]"}, None),
    ],
)
def test_the_host_is_that_of_the_websocket_and_never_ipv6(
    headers: dict[str, Any], endpoint: str | None
) -> None:
    answer = answered(**headers)
    assert answer.get("mqtt", {}).get("endpoint") == endpoint
    assert "websocket" in answer


@pytest.mark.parametrize(
    ("server", "mqtt", "endpoint"),
    [
        ({}, {}, "h:4321"),
        ({"public_host": "192.168.1.9"}, {}, "192.168.1.9:4321"),
        ({"public_url": "https://voice.example:8443/a"}, {}, "voice.example:4321"),
        ({"public_host": "fd00::20"}, {}, None),
        ({"public_host": "fd00::20"}, {"address": "10.1.1.1"}, "10.1.1.1:4321"),
        ({}, {"address": "broker.example", "public_port": 8883}, "broker.example:8883"),
    ],
)
def test_the_settings_say_where(
    server: dict[str, Any], mqtt: dict[str, Any], endpoint: str | None
) -> None:
    settings = Settings.model_validate({"server": server, "mqtt": mqtt})
    ota = ota_settings(lambda: settings, 8000, lambda: "", lambda: 4321)
    assert answered(ota, host="h:8003").get("mqtt", {}).get("endpoint") == endpoint


def test_a_balanced_node_is_the_host_of_both() -> None:
    ota = OtaSettings(mqtt_port=lambda: 1883, balanced=lambda: "ws://10.0.0.11:8000/xiaozhi/v1/")
    assert answered(ota, host="h")["mqtt"]["endpoint"] == "10.0.0.11:1883"


@pytest.mark.parametrize(
    "without",
    [
        {"decision": OtaDecision(admitted=True, token="t")},
        {"decision": OtaDecision(admitted=False, token="t", code="123456")},
        {"decision": OtaDecision(admitted=False)},
        {"settings": OtaSettings()},
        {"identity": None},
        {"identity": Identity(KITCHEN)},
        {"identity": Identity("a+b", CLIENT)},
        {"identity": Identity("#", CLIENT)},
    ],
    ids=lambda each: str(next(iter(each.items()))),
)
def test_who_gets_none(without: dict[str, Any]) -> None:
    assert "mqtt" not in answered(host="h", **without)


# ── through HTTP ─────────────────────────────────────────────────────────────────────────────


class Served:
    def __init__(self, port: int, registry: DeviceRegistry, admission: Admission) -> None:
        self.port = port
        self.registry = registry
        self.admission = admission

    async def ask(self, client_id: str = CLIENT, **headers: str) -> dict[str, Any]:
        answer = await request(
            self.port,
            "/xiaozhi/ota/",
            "POST",
            b"{}",
            Device_Id=KITCHEN.upper(),
            Client_Id=client_id,
            **headers,
        )
        assert answer.status == 200
        return answer.json()

    async def switch(self, carrier: Carrier) -> None:
        await self.registry.with_repository(lambda it: it.switch(KITCHEN, carrier, "me"))

    def refused(self, mqtt: dict[str, Any]) -> str:
        """Return why the server refuses a CONNECT with these values; empty: it does not."""
        client_id, _ = read_user_name(mqtt["username"])
        identity = Identity(mqtt["client_id"], client_id, mqtt["password"])
        refusal = self.admission.check(identity, self.admission.tracker.arrive("192.0.2.1"))
        return refusal.reason if refusal else ""


@asynccontextmanager
async def served(
    mode: AccessMode = AccessMode.OPEN, *, devices: str = "all", tokens: bool = True
) -> AsyncIterator[Served]:
    section = MqttSection.model_validate({"devices": devices})
    registry = memory_registry(mode, device_tokens() if tokens else None, by_mqtt=section.takes)
    registry.start()
    unlimited = Limits(connects_per_device=0)
    admission = Admission(AdmissionSettings(access=registry, limits=unlimited), counters=Counters())
    app = create_http_app(OtaSettings(mqtt_port=lambda: 1883), admission=admission)
    server = HttpServer(app, "127.0.0.1", 0, admission=admission)
    await server.start()
    try:
        yield Served(server.port, registry, admission)
    finally:
        await server.stop()
        await registry.stop()


@pytest.mark.parametrize("user_agent", ["esp-box-3/2.4.2", "PyXiaozhi/2.1.1", "python/3.11"])
async def test_a_device_is_sent_to_mqtt_and_may_connect_with_what_it_got(user_agent: str) -> None:
    async with served() as here:
        mqtt = (await here.ask(User_Agent=user_agent))["mqtt"]
        assert mqtt["endpoint"] == "127.0.0.1:1883"
        assert mqtt["client_id"] == KITCHEN
        assert here.refused(mqtt) == ""
        assert here.refused(mqtt | {"password": "open"}) == "token_wrong"
        assert here.refused(mqtt | {"username": "another"}) == "token_wrong"
        assert here.refused(mqtt | {"client_id": "02:00:00:00:00:02"}) == "token_wrong"


async def test_without_tokens_every_password_does() -> None:
    async with served(tokens=False) as here:
        mqtt = (await here.ask())["mqtt"]
        assert mqtt["password"] == "open"
        assert here.refused(mqtt) == ""


async def test_a_token_that_is_revoked_opens_nothing_more() -> None:
    async with served() as here:
        mqtt = (await here.ask())["mqtt"]
        assert here.refused(mqtt) == ""
        await here.registry.with_repository(lambda it: it.revoke_tokens(KITCHEN, "me"))
        # Of this second, it counts as issued since the last look at the registry.
        await until(lambda: here.refused(mqtt) == "token_revoked")
        assert here.refused((await here.ask())["mqtt"]) == ""
        assert here.refused(mqtt) == "token_revoked"


async def test_a_device_that_waits_gets_what_opens_mqtt_once_it_is_claimed() -> None:
    async with served(AccessMode.ACTIVATION) as here:
        waits = await here.ask()
        mqtt = waits["mqtt"]  # clients exist that ask once (py-xiaozhi)
        assert mqtt["password"] == waits["websocket"]["token"]
        assert here.refused(mqtt) == "token_revoked"
        code = waits["activation"]["code"]
        await here.registry.with_repository(lambda it: it.claim(code, "me"))
        assert here.refused(mqtt) == ""
        assert here.refused((await here.ask())["mqtt"]) == ""
        another = (await here.ask("another client"))["mqtt"]
        assert here.refused(another) == "token_revoked"
        await here.registry.with_repository(lambda it: it.forget(KITCHEN, "me"))
        await until(lambda: here.refused(mqtt) == "token_revoked")


async def test_a_device_that_waits_is_sent_to_mqtt_only_where_it_would_be() -> None:
    async with served(AccessMode.ACTIVATION, devices="chosen") as here:
        assert "mqtt" not in await here.ask()
    async with served(AccessMode.ALLOW_LIST) as here:
        assert "mqtt" not in await here.ask()


async def test_a_device_comes_and_returns_as_it_is_switched() -> None:
    async with served(devices="chosen") as here:
        assert "mqtt" not in await here.ask()
        carriers: Sequence[Carrier] = ("mqtt", "websocket", "mqtt", "")
        for carrier in carriers:
            await here.switch(carrier)
            assert ("mqtt" in await here.ask()) is (carrier == "mqtt")


async def test_by_ipv6_a_device_stays_with_websocket_which_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with served() as here:
        with caplog.at_level(logging.WARNING):
            for _ in range(2):
                await here.ask(Host="[fd00::20]:8003")
            answer = await here.ask(Host="[fd00::20]:8003")
        assert "mqtt" not in answer
        assert answer["websocket"]["url"] == "ws://[fd00::20]:8000/xiaozhi/v1/"
        assert here.admission.counters.get("http.ota.no_mqtt") == 3
        said = [each for each in caplog.messages if "stays with WebSocket" in each]
        assert len(said) == 1

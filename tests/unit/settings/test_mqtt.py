"""The section ``mqtt``: what is refused stands in tests/mistakes."""

from __future__ import annotations

from typing import Any

import pytest

from vixio.settings import Settings
from vixio.settings.mqtt import MqttSection

FRONT = {"url": "mqtt://h", "password": "p", "device_password": "d"}
DIRECT = {"url": "mqtt://h", "password": "p", "front": False, "secret": "sixteen bytes or more"}


def settings(**sections: Any) -> Settings:  # noqa: ANN401 - values of a file
    return Settings.model_validate({"mqtt": {}, **sections})


def test_without_the_section_it_is_off() -> None:
    assert Settings().mqtt is None
    assert settings().mqtt == MqttSection(
        port=1883, udp_port=8884, address="", public_port=0, devices="all"
    )


@pytest.mark.parametrize(
    ("devices", "carrier", "taken"),
    [
        ("all", "", True),
        ("all", "websocket", False),
        ("all", "mqtt", True),
        ("chosen", "", False),
        ("chosen", "websocket", False),
        ("chosen", "mqtt", True),
    ],
)
def test_which_devices_it_takes(devices: str, carrier: str, *, taken: bool) -> None:
    assert MqttSection.model_validate({"devices": devices}).takes(carrier) is taken


@pytest.mark.parametrize(
    "address", ["", "192.168.1.20", "voice.example.org", "vixio", "my_host.local"]
)
def test_a_host_that_devices_can_use(address: str) -> None:
    section = settings(mqtt={"address": address}).mqtt
    assert section is not None
    assert section.address == address


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({"mqtt": {"address": "fd00::20"}}, "devices use no IPv6 here"),
        ({"mqtt": {"address": "[fd00::20]"}}, "devices use no IPv6 here"),
        ({"mqtt": {"address": "mqtt://host"}}, "a host name or an IPv4 address alone"),
        ({"mqtt": {"address": "host:1883"}}, "without a scheme and port"),
        ({"server": {"workers": 2}, "mqtt": {"port": 0}}, "several workers need a port"),
        ({"mqtt": {"port": 8000}}, "server.port is 8000 too"),
        ({"mqtt": {"port": 8003}}, "server.http_port is 8003 too"),
        ({"mqtt": {"port": 8883}}, "devices speak TLS at port 8883"),
        ({"mqtt": {"devices": "some"}}, "'all' or 'chosen'"),
        ({"mqtt": {"broker": {"url": "amqp://h", "password": "p"}}}, "a URL such as mqtt://"),
        ({"mqtt": {"broker": {**FRONT, "url": "mqtt://me:p@h"}}}, "without a login"),
        ({"mqtt": {"broker": {"url": "mqtt://h", "password": "p"}}}, "connects devices"),
        ({"mqtt": {"broker": {**FRONT, "device_username": "vixio-server"}}}, "of their own"),
        ({"mqtt": {"broker": {**FRONT, "front": False}}}, "at least 16 bytes"),
        ({"mqtt": {"broker": DIRECT}}, "the broker's address, as they reach it"),
        (
            {"server": {"workers": 2}, "mqtt": {"address": "h", "broker": DIRECT}},
            "several workers or nodes need the front",
        ),
    ],
)
def test_what_does_not_go(sections: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        settings(**sections)


@pytest.mark.parametrize(
    "sections",
    [
        {"mqtt": {"port": 0}, "server": {"port": 0, "http_port": 0}},
        {"mqtt": {"udp_port": 8003}},
        {"mqtt": {"public_port": 8883}},
        {"mqtt": {"port": 8883, "public_port": 8883}},
        {"server": {"workers": 1}},
    ],
)
def test_what_goes(sections: dict[str, Any]) -> None:
    assert settings(**sections).mqtt is not None


def test_a_broker_of_ones_own() -> None:
    section = settings(mqtt={"broker": FRONT}, server={"workers": 4}).mqtt
    assert section is not None
    assert section.fronted
    # Devices speak TLS at 8883, and a broker there may.
    elsewhere = settings(mqtt={"address": "h", "port": 8883, "broker": DIRECT}).mqtt
    assert elsewhere is not None
    assert not elsewhere.fronted
    assert "sixteen" not in repr(elsewhere)

"""The line of ``vixio check`` about MQTT."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from vixio.cli.diagnostics import check_mqtt
from vixio.cli.diagnostics.check_mqtt import try_mqtt
from vixio.core.errors import ConfigError
from vixio.settings import Settings


def settings(mqtt: dict[str, Any] | None, **server: str) -> Settings:
    here = {"host": "127.0.0.1", "port": 0, "http_port": 0, **server}
    ports = None if mqtt is None else {"port": 0, "udp_port": 0, **mqtt}
    return Settings.model_validate({"server": here, "mqtt": ports})


async def test_it_says_which_devices_come_and_where() -> None:
    off = "off: devices come by WebSocket, and are reached while they are connected (mqtt)"
    assert await try_mqtt(settings(None)) == off
    assert await try_mqtt(settings({})) == (
        "all devices, at the address through which each comes: ports 0 and 0 (UDP)"
    )
    at = await try_mqtt(settings({"address": "192.0.2.7", "devices": "chosen"}))
    assert at.startswith("chosen devices, at 192.0.2.7: ")
    assert "at localhost:" in await try_mqtt(settings({}, public_host="localhost"))
    assert "at 192.0.2.9:" in await try_mqtt(settings({}, public_url="https://192.0.2.9:8443/a"))


@pytest.mark.parametrize(
    ("kind", "key"), [(socket.SOCK_STREAM, "port"), (socket.SOCK_DGRAM, "udp_port")]
)
async def test_a_port_that_another_program_has(kind: socket.SocketKind, key: str) -> None:
    with socket.socket(socket.AF_INET, kind) as stranger:
        stranger.bind(("127.0.0.1", 0))
        if kind is socket.SOCK_STREAM:
            stranger.listen()
        port = stranger.getsockname()[1]
        with pytest.raises(ConfigError, match=f"port {port} of 127.0.0.1 is in use") as caught:
            await try_mqtt(settings({key: port}))
    assert str(caught.value).endswith(f"choose another port (mqtt.{key} in the settings)")


async def test_the_ports_of_its_own_server(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as own:
        port = own.getsockname()[1]
        monkeypatch.setattr(check_mqtt, "health", lambda _host, _port: {"ports": [port]})
        assert f"ports {port} and" in await try_mqtt(settings({"port": port}))


@pytest.mark.parametrize(
    ("mqtt", "server"),
    [
        ({"address": "no-such-host.invalid"}, {}),
        ({}, {"public_host": "fd00::20"}),
        ({}, {"public_url": "https://[fd00::20]"}),
    ],
)
async def test_a_host_without_an_ipv4_address(mqtt: dict[str, str], server: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"no IPv4 address .* set mqtt\.address"):
        await try_mqtt(settings(mqtt, **server))

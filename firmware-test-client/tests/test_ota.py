"""The OTA request and what the device does with the answer."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest
from mqtt_server import MqttServer
from ota_server import Answer, OtaServer, answer, sections
from scripted_server import ScriptedServer

from firmware_test_client import DeviceConfig, Flash, OtaError, SimulatedDevice
from firmware_test_client.config import random_mac
from firmware_test_client.ota import is_newer


async def boot(config: DeviceConfig) -> SimulatedDevice:
    device = SimulatedDevice(config)
    try:
        await device.boot()
    finally:
        await device.close()
    return device


async def test_boot_connects_as_ota_states(ota: OtaServer, server: ScriptedServer) -> None:
    ota.answers = [answer(server.url)]
    async with SimulatedDevice(ota.config(mode="manual")) as device:
        assert server.talk.headers["authorization"] == "Bearer abc"
        assert server.talk.headers["protocol-version"] == "3"
        assert server.talk.bodies("hello")[0]["version"] == 3
        path, headers, body = ota.requests[0]
        assert path == "/xiaozhi/ota/"
        assert headers["device-id"] == device.config.device_id == body["mac_address"]
        assert headers["client-id"] == device.config.client_id == body["uuid"]
        assert headers["user-agent"] == "simulated-board/2.0.3"
        assert headers["activation-version"] == "1"
        assert "serial-number" not in headers
        assert body["application"]["version"] == "2.0.3"
        assert body["chip_model_name"] == "esp32s3"


async def test_sections_are_read_as_the_firmware_reads_them(ota: OtaServer) -> None:
    ota.answers = [
        answer(
            server_time={"timestamp": 1_700_000_000_500, "timezone_offset": 60},
            firmware={"version": "2.0.3", "url": "http://x/f.bin", "force": 0},
        )
    ]
    result = (await boot(ota.config())).ota
    assert result is not None
    assert result.server_time == 1_700_000_000.5 + 3600
    assert not result.upgrade
    assert result.version == 3


@pytest.mark.parametrize(
    ("offered", "newer"),
    [
        ("2.0.3", False),
        ("2.0.4", True),
        ("2.0", False),
        ("2.0.3.1", True),
        ("1.9.9", False),
        ("2.0.10", True),
        ("2.0.4-beta", True),
        ("2.0.3.", False),
        ("", False),
    ],
)
def test_versions(offered: str, newer: bool) -> None:
    assert is_newer("2.0.3", offered) is newer


@pytest.mark.parametrize(
    ("prepared", "complaint"),
    [
        ((500, "{}"), "answered HTTP 500"),
        ((200, "<html>"), "invalid JSON"),
        ((200, "[]"), "not an object"),
        ((200, '{"websocket": null}'), "without a websocket section.*without a server"),
        ((200, '{"websocket": {}}'), "without a websocket url, and none is stored"),
        ((200, '{"firmware": {"version": "v2", "url": "x"}}'), "not made of numbers"),
    ],
)
async def test_useless_answers(ota: OtaServer, prepared: Answer, complaint: str) -> None:
    ota.answers = [prepared]
    with pytest.raises(OtaError, match=complaint):
        await SimulatedDevice(ota.config()).start()


async def test_unreachable() -> None:
    with pytest.raises(OtaError, match="cannot reach"):
        await SimulatedDevice(DeviceConfig(ota_url="http://127.0.0.1:9/")).start()


async def test_a_refusal_is_shown_and_tried_ten_times(ota: OtaServer) -> None:
    ota.answers = [(403, "{}")] * 10
    device = SimulatedDevice(ota.config(ota_tries=10))
    with pytest.raises(OtaError, match="answered HTTP 403"):
        await device.start()
    assert len(ota.requests) == 10
    assert len(device.screen) == 9
    url = device.config.ota_url
    assert device.screen[0] == (
        f"alert: Error: Check for new version failed, will retry in 0.001 seconds: code=403, "
        f"url={url} (cloud_off)"
    )
    assert "in 0.256 seconds" in device.screen[8]
    assert device.sounds == ["exclamation"] * 9


async def test_the_device_starts_when_the_endpoint_recovers(ota: OtaServer) -> None:
    ota.answers = [(503, ""), (200, "<html>"), answer()]
    device = await boot(ota.config(ota_tries=10))
    assert device.state == "idle"
    assert ["code=503" in line for line in device.screen] == [True, False]
    assert "code=264" in device.screen[1]  # ESP_ERR_INVALID_RESPONSE


async def test_the_button_ends_the_wait_for_the_next_try(ota: OtaServer) -> None:
    ota.answers = [(503, ""), answer()]
    device = SimulatedDevice(ota.config(ota_tries=10, ota_retry=1000.0))
    starting = asyncio.create_task(device.boot())
    await device.wait_for(lambda: device.screen, what="the alert")
    await device.toggle()
    assert device.state == "idle"
    await starting
    await device.close()


# What is stored


async def test_settings_stay_from_boot_to_boot(ota: OtaServer, server: ScriptedServer) -> None:
    first = ota.config(mode="manual")
    ota.answers = [
        answer(server.url, mqtt=None),
        sections(websocket={"version": 2}),
        sections(websocket={"token": ""}),
    ]
    async with SimulatedDevice(first):
        assert server.talk.headers["authorization"] == "Bearer abc"
    async with SimulatedDevice(dataclasses.replace(first, board="other-name")) as device:
        assert server.talk.headers["authorization"] == "Bearer abc"
        assert server.talk.headers["protocol-version"] == "2"
        assert ota.requests[1][1]["user-agent"] == "other-name/2.0.3"
        assert device.ota is not None
        assert device.ota.websocket_url == server.url
    async with SimulatedDevice(first):
        assert "authorization" not in server.talk.headers
        assert first.flash.nvs.string("websocket", "token") == ""


async def test_every_string_and_number_is_stored(ota: OtaServer) -> None:
    websocket = {"url": "ws://x/", "extra": "e", "pi": 3.9, "flag": True, "no": None, "list": [1]}
    ota.answers = [sections(websocket=websocket)]
    config = ota.config()
    await boot(config)
    assert config.flash.nvs.namespaces == {"websocket": {"url": "ws://x/", "extra": "e", "pi": 3}}


@pytest.mark.parametrize(
    ("section", "complaint"),
    [
        ({"a_key_of_16_char": "x"}, "key 'a_key_of_16_char'.* longer than 15 bytes"),
        ({"url": "ws://x/" + "y" * 3993}, "value of key 'url'.* longer than 3999 bytes"),
        ({"url": "é" * 2000}, "VALUE_TOO_LONG"),
    ],
)
async def test_what_is_too_long_aborts_every_boot(
    ota: OtaServer, section: dict[str, str], complaint: str
) -> None:
    ota.answers = [sections(websocket={"token": "t"} | section)] * 2
    config = ota.config(ota_tries=10)
    for _ in range(2):
        with pytest.raises(OtaError, match=f"boot aborted: .*{complaint}"):
            await boot(config)
    assert len(ota.requests) == 2
    assert config.flash.nvs.string("websocket", "token") == "t"


async def test_what_just_fits_is_stored(ota: OtaServer) -> None:
    url = "ws://x/" + "y" * 3992
    ota.answers = [sections(websocket={"url": url, "a_key_of_15_cha": 1, "a_key_of_16_char": ""})]
    config = ota.config()
    await boot(config)
    assert config.flash.nvs.string("websocket", "url") == url
    assert config.flash.nvs.integer("websocket", "a_key_of_15_cha") == 1


async def test_a_flash_belongs_to_one_device(ota: OtaServer) -> None:
    ota.answers = [answer()]
    config = ota.config()
    await boot(config)
    with pytest.raises(ValueError, match=f"belongs to device {config.device_id}"):
        await boot(dataclasses.replace(config, device_id=random_mac()))


async def test_mqtt_wins_over_websocket(ota: OtaServer, broker: MqttServer) -> None:
    ota.answers = [answer(mqtt=broker.settings)]
    config = ota.config(speaking_delay_ms=0)
    async with SimulatedDevice(config) as device:
        assert (device.carrier, device.state) == ("mqtt", "listening")
        assert broker.link.connect["fields"] == ["02:00:00:00:00:01", "uuid", "token"]
        assert broker.link.connect["keepalive"] == 120
        assert device.violations == []
    assert config.flash.nvs.namespaces["mqtt"] == broker.settings
    assert config.flash.nvs.string("websocket", "token") == "abc"


async def test_a_device_returns_to_websocket(
    ota: OtaServer, broker: MqttServer, server: ScriptedServer
) -> None:
    ota.answers = [answer(mqtt=broker.settings), answer(server.url), answer(mqtt=broker.settings)]
    async with SimulatedDevice(ota.config()) as device:
        broker.link.publish({"type": "system", "command": "reboot"})
        await device.wait_for_boot(2)
        assert (device.carrier, device.connected) == ("websocket", False)
        await broker.link.ended.wait()
        await device.connect()
        assert device.state == "listening"
        await server.talk.send({"type": "system", "command": "reboot"})
        await device.wait_for_boot(3)
        assert (device.carrier, device.online) == ("mqtt", True)


async def test_a_restart_is_without_a_connection(ota: OtaServer, broker: MqttServer) -> None:
    ota.answers = [answer(mqtt=broker.settings)]
    async with SimulatedDevice(ota.config()) as device:
        online: list[bool] = []

        def respond(path: str, body: object) -> Answer:
            online.append(device.online)
            return answer(mqtt=broker.settings)

        ota.respond = respond
        broker.link.publish({"type": "system", "command": "reboot"})
        await device.wait_for_boot(2)
        assert (online, device.online) == ([False], True)


async def test_another_boot_leaves_no_connection_behind(ota: OtaServer, broker: MqttServer) -> None:
    ota.answers = [answer(mqtt=broker.settings), answer()]
    async with SimulatedDevice(ota.config()) as device:
        await device.boot()
        await broker.link.ended.wait()
        assert device.carrier == "websocket"


async def test_mqtt_without_an_endpoint_is_no_server(ota: OtaServer, broker: MqttServer) -> None:
    """An empty object is preferred to the websocket all the same, and uses what is stored."""
    ota.answers = [answer(mqtt={}), answer(mqtt=broker.settings), answer(mqtt={"keepalive": 60})]
    config = ota.config()
    with pytest.raises(OtaError, match="mqtt section without an endpoint, and none is stored"):
        await boot(config)
    for keepalive in (120, 60):
        async with SimulatedDevice(config) as device:
            assert device.state == "listening"
            assert broker.link.connect["keepalive"] == keepalive


async def test_the_default_keepalive(ota: OtaServer, broker: MqttServer) -> None:
    section = {key: value for key, value in broker.settings.items() if key != "keepalive"}
    ota.answers = [sections(mqtt=section)]
    async with SimulatedDevice(ota.config()):
        assert broker.link.connect["keepalive"] == 240


async def test_without_a_section_stored_credentials_are_used(
    ota: OtaServer, broker: MqttServer
) -> None:
    """By MQTT, although a websocket is stored too."""
    ota.answers = [answer(mqtt=broker.settings), sections()]
    config = ota.config(mode="manual")
    for _ in range(2):
        async with SimulatedDevice(config) as device:
            assert (device.carrier, device.online) == ("mqtt", True)
    assert len(broker.connections) == 2


async def test_after_ten_failures_stored_credentials_are_used(
    ota: OtaServer, broker: MqttServer
) -> None:
    ota.answers = [answer(mqtt=broker.settings), *[(503, "")] * 10]
    config = ota.config(ota_tries=10, mode="manual")
    async with SimulatedDevice(config):
        pass
    async with SimulatedDevice(config) as device:
        assert (len(ota.requests), len(broker.connections)) == (11, 2)
        assert (device.carrier, device.online, device.ota) == ("mqtt", True, None)


async def test_py_xiaozhi_stays_with_the_websocket(
    ota: OtaServer, broker: MqttServer, server: ScriptedServer
) -> None:
    ota.answers = [answer(server.url, mqtt=broker.settings)]
    async with SimulatedDevice(ota.config(client="py-xiaozhi")) as device:
        assert device.carrier == "websocket"


async def test_py_xiaozhi_goes_on_with_the_stored_address(ota: OtaServer) -> None:
    ota.answers = [answer(), sections(), sections()]
    config = ota.config(client="py-xiaozhi")
    await boot(config)
    stored = (await boot(config)).ota
    assert stored is not None
    assert stored.websocket_url == "ws://127.0.0.1:1/"
    with pytest.raises(OtaError, match="none is stored"):
        await boot(dataclasses.replace(config, flash=Flash()))

"""Devices that are always connected: MQTT and UDP through the real server."""

from __future__ import annotations

from firmware_test_client import SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.harness import serving, settings

MQTT = {"port": 0, "udp_port": 0}


async def test_a_device_that_ota_sends_to_mqtt_converses() -> None:
    async with (
        serving(settings(mqtt=MQTT)) as server,
        SimulatedDevice(server.device()) as device,
    ):
        reply = await device.ask("what time is it")
        assert_played_well(reply)
        assert reply.text
        assert_nothing_wrong(device)

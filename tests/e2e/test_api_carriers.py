"""How a device connects, over the HTTP API of a real server."""

from __future__ import annotations

from pathlib import Path

from firmware_test_client import SimulatedDevice
from tests.e2e.api_client import api_server
from vixio.web.api.scopes import Scope

ANY_PORTS = {"port": 0, "udp_port": 0}


async def test_a_device_is_switched_to_another_carrier(tmp_path: Path) -> None:
    mqtt = {"devices": "chosen", **ANY_PORTS}
    async with (
        api_server(tmp_path, mqtt=mqtt) as api,
        SimulatedDevice(api.server.device(mode="manual")) as device,
    ):
        call = await api.client(Scope.ADMIN)
        one = f"/devices/{device.config.device_id}"
        shown = (await call("GET", one)).body
        assert (shown["carrier"], shown["live"]["transport"]) == ("", "websocket")
        switched = await call("PATCH", one, {"carrier": "mqtt"})
        assert (switched.status, switched.body["carrier"]) == (200, "mqtt")
        wrong = await call("PATCH", one, {"carrier": "pigeon"})
        assert wrong.status == 422
        both = await call("PATCH", one, {"carrier": "", "place": "Attic"})
        assert (both.body["carrier"], both.body["place"]) == ("", "Attic")
        changes = (await call("GET", "/audit")).body["changes"]
        found = [(each["action"], each["detail"]) for each in changes if device.config.device_id]
        assert ("switched", {"carrier": "mqtt"}) in found
        assert ("switched", {"carrier": ""}) in found
        assert ("renamed", {"place": "Attic"}) in found
        assert [each for each, _ in found].count("renamed") == 1, "a switch alone renames nothing"
        assert (await call("GET", "/server")).body["mqtt"] == "chosen"

"""A device is upgraded at once, over the API: one that talks, and one that is idle."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from firmware_test_client import SimulatedDevice
from firmware_test_client.image import firmware_image
from tests.e2e.api_client import ApiServer, Client, api_server
from tests.e2e.house import LightHouse
from tests.support.waiting import until
from vixio.web.api.scopes import Scope

NEW = firmware_image("2.1.0", size=300_000)
UPGRADE = "self.upgrade_firmware"
CARRIERS = ["websocket", "mqtt"]


@asynccontextmanager
async def connected(
    folder: Path,
    carrier: str,
    **options: Any,  # noqa: ANN401  of the device
) -> AsyncIterator[tuple[ApiServer, SimulatedDevice]]:
    """A server, and a device that has been to OTA; over MQTT nobody talks to it."""
    sections: dict[str, Any] = {"mqtt": {"port": 0, "udp_port": 0}} if carrier == "mqtt" else {}
    config = {"mode": "manual", "listen_on_connect": carrier == "websocket", "pause_scale": 0}
    async with (
        api_server(folder, **sections) as api,
        SimulatedDevice(api.server.device(**config, **options)) as device,
    ):
        found = api.server.app.host.sessions.find
        await until(lambda: found(device.config.device_id) is not None, what="a session")
        yield api, device


async def release(admin: Client, folder: Path, image: bytes, version: str, **body: object) -> None:
    """Add an image and release it to all devices of the board."""
    octets = {"Content-Type": "application/octet-stream"}
    added = await admin("POST", "/firmware/images", data=image, headers=octets)
    assert added.status == 201, added.body
    path = f"/firmware/simulated-board/{version}/release"
    assert (await admin("PUT", path, {"percent": 100.0, **body})).status == 200


@pytest.mark.parametrize("carrier", CARRIERS)
async def test_a_device_is_upgraded_at_once(tmp_path: Path, carrier: str) -> None:
    async with connected(tmp_path, carrier) as (api, device):
        admin = await api.client(Scope.ADMIN)
        await release(admin, tmp_path, NEW, "2.1.0")
        one = f"/devices/{device.config.device_id}"
        begun = await admin("POST", f"{one}/upgrade")
        assert (begun.status, begun.body) == (200, {"version": "2.1.0", "from_version": "2.0.3"})
        upgrade = await device.wait_for_upgrade()
        assert (upgrade.received, upgrade.error) == (len(NEW), None)
        await device.wait_for_boot(2)
        assert device.boots == ["2.0.3", "2.1.0"]

        async def state() -> str:
            (attempt,) = (await admin("GET", "/firmware/attempts")).body["attempts"]
            return str(attempt["state"])

        assert await state() == "installed"
        changes = (await admin("GET", "/audit")).body["changes"]
        (entry,) = [each for each in changes if each["action"] == "upgraded"]
        assert entry["target"] == f"device:{device.config.device_id}"
        assert entry["detail"] == {"version": "2.1.0", "from_version": "2.0.3"}


async def refusal(call: Client, device: SimulatedDevice, status: int) -> str:
    """Ask for an upgrade; return why it is refused."""
    answer = await call("POST", f"/devices/{device.config.device_id}/upgrade")
    assert answer.status == status, answer.body
    return str(answer.body["detail"])


async def test_why_a_device_is_not_upgraded(tmp_path: Path) -> None:
    async with connected(tmp_path, "websocket") as (api, device):
        admin = await api.client(Scope.ADMIN)
        nothing = "it runs 2.0.3, and nothing newer is released to it (simulated-board)"
        assert nothing in await refusal(admin, device, 409)
        await release(admin, tmp_path, firmware_image("2.0.3", size=300_000), "2.0.3")
        assert nothing in await refusal(admin, device, 409)
        control = await api.client(Scope.CONTROL)
        assert "user-tools" in await refusal(control, device, 403)
        device.remove_tool(UPGRADE, notify=False)
        assert "no tool" in await refusal(admin, device, 404)
        await device.disconnect()
        assert "not connected" in await refusal(admin, device, 409)
        assert device.upgrades == []
        changes = (await admin("GET", "/audit")).body["changes"]
        assert [each for each in changes if each["action"] == "upgraded"] == []


async def test_the_command_asks_the_running_server(tmp_path: Path) -> None:
    house = LightHouse(tmp_path, "", access="open")
    file = tmp_path / "xiaozhi.bin"
    file.write_bytes(NEW)
    async with house.serving(), SimulatedDevice(house.device(board="simulated-board")) as device:
        mac = device.config.device_id
        refused = await house.command("devices", "upgrade", mac, status=2)
        assert "nothing newer is released to it" in refused
        await house.command("firmware", "add", str(file))
        await house.command("firmware", "release", "2.1.0", "--device", mac)
        said = await house.command("devices", "upgrade", mac[:8])
        assert said == "it installs 2.1.0, from 2.0.3\n"
        await device.wait_for_boot(2)
        (name, *_) = [
            each.split("api:")[1].split()[0]
            for each in (await house.command("devices", "audit")).splitlines()
            if "upgraded" in each
        ]
        assert name.startswith("command")
    assert "no Vixio server answers" in await house.command("devices", "upgrade", mac, status=2)

"""A picture on a device's screen, over the API: of one that talks, and of one that is idle."""

from __future__ import annotations

import re
from pathlib import Path

import aiohttp
import pytest

from firmware_test_client import SimulatedDevice
from tests.e2e.api_client import Answer, Client, api_server
from tests.e2e.house import LightHouse
from tests.e2e.test_api_screen import PROCESSES_SURELY
from tests.e2e.test_upgrade_now import CARRIERS, connected
from tests.support.png import png
from vixio.web.api.pictures import MAX_BYTES, PATH
from vixio.web.api.scopes import Scope

PREVIEW = "self.screen.preview_image"
JPEG = b"\xff\xd8\xff\xe0" + b"\x07" * 500 + b"\xff\xd9"


async def send(call: Client, device: SimulatedDevice, image: bytes) -> Answer:
    """Have a picture shown."""
    path, kind = f"/devices/{device.config.device_id}/picture", {"Content-Type": "image/png"}
    return await call("POST", path, data=image, headers=kind)


@pytest.mark.parametrize("carrier", CARRIERS)
async def test_a_picture_is_shown(tmp_path: Path, carrier: str) -> None:
    async with connected(tmp_path, carrier) as (api, device):
        control = await api.client(Scope.CONTROL)
        for image in (png(240, 240), png(800, 480), png(1, 1, MAX_BYTES - 200)):
            assert (await send(control, device, image)).status == 204
            assert device.hardware.preview == image
        (call, *_) = (call for call in device.mcp.calls if call.name == PREVIEW)
        url = str(call.arguments["url"])
        async with api.http.get(url) as answer:  # for a while it is there
            assert (answer.status, answer.content_type) == (200, "image/png")
            assert answer.headers["Cache-Control"] == "no-store"
        forged = re.sub(r"/picture/.", "/picture/!", url)
        for wrong in (forged, url[:-1], f"{api.server.http_url}{PATH}made.up"):
            async with api.http.get(wrong) as answer:
                assert answer.status == 404


REFUSED = {
    "a JPEG": (JPEG, 415, "devices read no other format"),
    "nothing": (b"", 415, "devices read no other format"),
    "half": (png(240, 240)[:-20], 415, "devices read no other format"),
    "no size": (png(0, 240, 100), 415, "devices read no other format"),
    "too wide": (png(2_000, 1_000), 422, "2000 x 1000 pixels"),
    "too large": (png(1, 1, MAX_BYTES), 413, "at most"),
}


async def test_what_cannot_be_shown(tmp_path: Path) -> None:
    async with (
        api_server(tmp_path) as api,
        SimulatedDevice(api.server.device(mode="manual")) as device,
    ):
        control = await api.client(Scope.CONTROL)
        for name, (image, status, why) in REFUSED.items():
            refused = await send(control, device, image)
            assert refused.status == status, name
            assert why in refused.body["detail"], name
        assert (await send(await api.client(), device, png(9, 9))).status == 401
        user = await api.client(Scope.USER_TOOLS)
        assert (await send(user, device, png(9, 9))).status == 403
        device.remove_tool(PREVIEW, notify=False)
        assert (await send(control, device, png(9, 9))).status == 404
        await device.disconnect()
        assert (await send(control, device, png(9, 9))).status == 409
        assert device.hardware.preview == b""


async def test_whichever_process_the_device_fetches_from(tmp_path: Path) -> None:
    house = LightHouse(tmp_path, "", access="open")
    house.write("open", workers=2)
    file = tmp_path / "picture.png"
    async with house.serving(), SimulatedDevice(house.device()) as device:
        said = await house.command("api-tokens", "create", "--name", "x", "--scope", "control")
        token = next(line for line in said.splitlines() if line.startswith("vixio_"))
        for number in range(1, PROCESSES_SURELY + 1):
            async with aiohttp.ClientSession() as http:
                call = Client(http, f"http://127.0.0.1:{house.http_port}", token)
                image = png(9, number, 300_000)
                assert (await send(call, device, image)).status == 204
                assert device.hardware.preview == image
        file.write_bytes(png(7, 7))
        mac = device.config.device_id
        assert await house.command("devices", "picture", mac, str(file)) == "shown\n"
        assert device.hardware.preview == png(7, 7)
        file.write_bytes(JPEG)
        assert "PNG" in await house.command("devices", "picture", mac, str(file), status=2)

"""The picture of a device's screen over the HTTP API."""

from __future__ import annotations

from pathlib import Path

import aiohttp

from firmware_test_client import SimulatedDevice
from tests.e2e.api_client import api_server
from tests.e2e.house import LightHouse
from vixio.web.api.scopes import Scope
from vixio.web.api.screens import MAX_BYTES, PATH

SNAPSHOT = "self.screen.snapshot"
PROCESSES_SURELY = 12
"""Requests, each on a connection of its own, that hardly all reach one of two processes."""


def picture(size: int) -> bytes:
    """Return what begins and ends like a JPEG of so many bytes."""
    return b"\xff\xd8\xff\xe0" + b"\x07" * (size - 6) + b"\xff\xd9"


async def shown(
    http: aiohttp.ClientSession, url: str, token: str, device: str
) -> tuple[int, bytes]:
    """Ask for a screen; return status and body."""
    headers = {"Authorization": f"Bearer {token}"}
    async with http.get(f"{url}/api/v1/devices/{device}/screen", headers=headers) as answer:
        if answer.status == 200:
            assert answer.content_type == "image/jpeg"
            assert answer.headers["Cache-Control"] == "no-store"
        return answer.status, await answer.read()


async def test_the_screen_is_shown(tmp_path: Path) -> None:
    async with (
        api_server(tmp_path) as api,
        SimulatedDevice(api.server.device(mode="manual")) as device,
    ):
        token, mac = await api.token(Scope.USER_TOOLS), device.config.device_id
        for image in (device.hardware.screenshot, picture(150_000), picture(MAX_BYTES)):
            device.hardware.screenshot = image
            assert await shown(api.http, api.server.http_url, token, mac) == (200, image)
        (call, *_) = (call for call in device.mcp.calls if call.name == SNAPSHOT)
        assert call.arguments["quality"] == 80
        async with api.http.post(str(call.arguments["url"]), data=picture(100)) as again:
            assert again.status == 401, "a ticket is for one picture"
        async with api.http.post(f"{api.server.http_url}{PATH}made.up") as wrong:
            assert wrong.status == 401


async def test_why_there_is_no_screen(tmp_path: Path) -> None:
    async with (
        api_server(tmp_path) as api,
        SimulatedDevice(api.server.device(mode="manual")) as device,
    ):
        call = await api.client(Scope.USER_TOOLS)
        path = f"/devices/{device.config.device_id}/screen"
        for image, status in ((b"GIF89a", 415), (picture(MAX_BYTES + 1), 413)):
            device.hardware.screenshot = image
            refused = await call("GET", path)
            assert refused.status == 409
            assert f"Unexpected status code: {status}" in refused.body["detail"]
        assert (await call("GET", f"{path}?quality=101")).status == 422
        device.remove_tool(SNAPSHOT, notify=False)
        assert (await call("GET", path)).status == 404
        narrow = await api.client(Scope.CONTROL, Scope.DEVICES_READ)
        assert (await narrow("GET", path)).status == 403
        await device.disconnect()
        assert (await call("GET", path)).status == 409


async def test_whichever_process_the_picture_comes_to(tmp_path: Path) -> None:
    house = LightHouse(tmp_path, "", access="open")
    house.write("open", workers=2)
    image = picture(150_000)
    async with (
        house.serving(),
        SimulatedDevice(house.device()) as device,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as http,
    ):
        device.hardware.screenshot = image
        said = await house.command("api-tokens", "create", "--name", "x", "--scope", "user-tools")
        token = next(line for line in said.splitlines() if line.startswith("vixio_"))
        url = f"http://127.0.0.1:{house.http_port}"
        for _ in range(PROCESSES_SURELY):
            assert await shown(http, url, token, device.config.device_id) == (200, image)

"""What a device is told to do from its page: install, show, fetch."""

from __future__ import annotations

from pathlib import Path

import pytest

from firmware_test_client.image import firmware_image
from tests.console.conftest import OpenVisit
from tests.console.house import ConsoleHouse
from tests.support.png import png
from vixio.web.http.images import png_size

pytestmark = pytest.mark.slow

KITCHEN = "02:00:00:00:00:11"
PAGE = f"#/device/{KITCHEN.replace(':', '%3A')}"
MQTT = "mqtt: {port: 0, udp_port: 0, devices: all}\n"


async def test_an_idle_device_is_upgraded(tmp_path: Path, open_visit: OpenVisit) -> None:
    from playwright.async_api import expect

    house = ConsoleHouse(tmp_path, MQTT)
    file = tmp_path / "xiaozhi.bin"
    file.write_bytes(firmware_image("2.1.0", size=300_000))
    options = {"device_id": KITCHEN, "board": "simulated-board", "listen_on_connect": False}
    async with house.serving(), house.member("Kitchen", **options) as device:
        visit = await open_visit(house)
        await visit.enter(PAGE)
        page = visit.page
        visit.watch.expect(409, r"/upgrade")
        await page.get_by_role("button", name="Upgrade now").click()
        dialog = page.get_by_role("dialog", name="Upgrade Kitchen now?")
        await dialog.get_by_role("button", name="Upgrade now").click()
        await expect(dialog).to_contain_text("nothing newer is released to it")
        await house.command("firmware", "add", str(file))
        await house.command("firmware", "release", "2.1.0", "--percent", "100")
        await dialog.get_by_role("button", name="Upgrade now").click()
        await expect(page.locator(".toast.good")).to_contain_text("It is installing 2.1.0.")
        await device.wait_for_boot(2)
        assert device.boots == ["2.0.3", "2.1.0"]
        await visit.enter("#/server/access")
        await expect(page.locator(".audit")).to_contain_text("upgraded Kitchen")


async def test_a_picture_is_shown(tmp_path: Path, open_visit: OpenVisit) -> None:
    """Any picture that the browser reads: the device gets a PNG of 320 pixels at most."""
    from playwright.async_api import expect

    house = ConsoleHouse(tmp_path, MQTT)
    options = {"device_id": KITCHEN, "listen_on_connect": False}
    (tmp_path / "big.png").write_bytes(png(1_000, 500))
    (tmp_path / "words.png").write_text("no picture")
    async with house.serving(), house.member("Kitchen", **options) as device:
        visit = await open_visit(house)
        await visit.enter(PAGE)
        page = visit.page
        chosen = page.get_by_label("Picture")
        show = page.get_by_role("button", name="Show the picture")
        await show.click()
        await expect(page.locator(".toast").last).to_contain_text("Choose a picture.")
        await chosen.set_input_files(tmp_path / "words.png")
        await show.click()
        await expect(page.locator(".toast").last).to_contain_text("cannot read this file")
        await chosen.set_input_files(tmp_path / "big.png")
        await show.click()
        await expect(page.locator(".toast.good")).to_contain_text("It is on the screen.")
        assert png_size(device.hardware.preview) == (320, 160)


async def test_a_device_is_given_assets(tmp_path: Path, open_visit: OpenVisit) -> None:
    from playwright.async_api import expect

    house = ConsoleHouse(tmp_path, MQTT)
    options = {"device_id": KITCHEN, "listen_on_connect": False}
    url = "http://192.0.2.1/assets.bin"
    async with house.serving():
        visit = await open_visit(house)
        async with house.member("Kitchen", **options) as device:
            await visit.enter(f"{PAGE}/details")
            page = visit.page
            await page.get_by_label("Address of a package").fill(url)
            send = page.get_by_role("button", name="Send", exact=True)
            await send.click()
            await expect(page.locator(".toast.good")).to_contain_text("when the device next")
            assert device.hardware.assets_url == url
            told = await house.command("devices", "assets", "Kitchen", f"{url}?2")
            assert "at its next start" in told
            assert device.hardware.assets_url == f"{url}?2"
        await expect(send).to_be_disabled()
        await visit.enter("#/server/access")
        await expect(page.locator(".audit")).to_contain_text("gave assets to Kitchen")

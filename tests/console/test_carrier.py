"""How a device connects: chosen where the server has MQTT, and shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.async_api import Response

from tests.console.conftest import OpenVisit
from tests.console.house import ConsoleHouse

pytestmark = pytest.mark.slow

KITCHEN = "02:00:00:00:00:11"
DETAILS = f"#/device/{KITCHEN.replace(':', '%3A')}/details"


@pytest.mark.parametrize(("devices", "default"), [("all", "MQTT"), ("chosen", "WebSocket")])
async def test_how_a_device_connects_is_chosen(
    tmp_path: Path, open_visit: OpenVisit, devices: str, default: str
) -> None:
    from playwright.async_api import expect

    house = ConsoleHouse(tmp_path, f"mqtt: {{port: 0, udp_port: 0, devices: {devices}}}\n")
    async with house.serving(), house.api() as http:
        body = {"id": KITCHEN, "name": "Kitchen"}
        async with http.post("/api/v1/devices", json=body) as answer:
            assert answer.status == 201
        visit = await open_visit(house)
        await visit.enter(DETAILS)
        page = visit.page
        chosen = page.get_by_label("How it connects")
        await expect(chosen.locator("option:checked")).to_have_text(f"Server default ({default})")
        await expect(page.get_by_text("A change takes effect when")).to_be_visible()
        for carrier in ("mqtt", "websocket", "", "mqtt"):
            async with page.expect_response(_changes) as changed:
                await chosen.select_option(carrier)
            assert (await changed.value).ok
            async with http.get(f"/api/v1/devices/{KITCHEN}") as answer:
                assert (await answer.json())["carrier"] == carrier
        await expect(page.locator(".toast").last).to_contain_text("when the device next restarts")
        await page.reload()
        await expect(chosen).to_have_value("mqtt")
        await visit.enter("#/server/access")
        await expect(page.locator(".audit")).to_contain_text("changed the connection of Kitchen")


def _changes(answer: Response) -> bool:
    return answer.request.method == "PATCH" and "/devices/" in answer.url


async def test_without_mqtt_there_is_nothing_to_choose(
    house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    from playwright.async_api import expect

    async with house.member("Kitchen", device_id=KITCHEN, mode="manual"):
        visit = await open_visit(house)
        await visit.enter(DETAILS)
        page = visit.page
        await expect(page.get_by_label("Profile", exact=True)).to_be_visible()
        await expect(page.locator("dt", has_text="Connected by")).to_be_visible()
        await expect(page.locator("dd", has_text="WebSocket")).to_be_visible()
        await expect(page.get_by_label("How it connects")).to_have_count(0)

"""A device that is always connected: reachable while it is idle, and what became of what it got."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from firmware_test_client import SimulatedDevice
from tests.console.conftest import OpenVisit
from tests.console.house import ConsoleHouse

pytestmark = pytest.mark.slow

KITCHEN = "02:00:00:00:00:11"
HERE = f"#/device/{KITCHEN.replace(':', '%3A')}"
NEWS = "The washing machine is done."
REACHABLE = "Idle, can be reached"


@asynccontextmanager
async def idle(
    folder: Path, *, speak_request: bool
) -> AsyncIterator[tuple[ConsoleHouse, SimulatedDevice]]:
    """Run a server with MQTT and a device that nobody talks to."""
    house = ConsoleHouse(folder, "mqtt: {port: 0, udp_port: 0}\n")
    options = {"listen_on_connect": False, "speak_request": speak_request}
    async with house.serving(), house.member("Kitchen", device_id=KITCHEN, **options) as device:
        yield house, device


async def test_an_idle_device_is_made_to_speak_unless_it_is_night(
    tmp_path: Path, open_visit: OpenVisit
) -> None:
    from playwright.async_api import expect

    async with idle(tmp_path, speak_request=True) as (house, device):
        visit = await open_visit(house)
        page = visit.page
        await visit.enter("#/devices")
        await expect(page.locator(".device vx-state")).to_have_text(REACHABLE)
        await visit.enter(HERE)
        state = page.locator(".page-head vx-state")
        await expect(state).to_have_text(REACHABLE)
        await expect(page.get_by_text("It is idle and can be reached.")).to_be_visible()
        for name in ("Interrupt", "Disconnect"):
            await expect(page.get_by_role("button", name=name)).to_be_disabled()
        await expect(page.get_by_role("button", name="Say it when it wakes")).to_be_hidden()
        await page.get_by_label("What to say").fill(NEWS)
        await page.get_by_role("button", name="Say", exact=True).click()
        await expect(page.get_by_text("It was said.")).to_be_visible()
        assert NEWS in device.replies[-1].text
        await expect(state).to_have_text("Listening")
        await expect(page.get_by_role("button", name="Interrupt")).to_be_enabled()
        await page.get_by_role("button", name="Disconnect").click()
        await expect(state).to_have_text(REACHABLE)

        now = datetime.now().astimezone()
        ends = f"{now + timedelta(hours=3):%H:%M}"
        hours = f"{now - timedelta(hours=3):%H:%M}-{ends}"
        async with house.api() as http:
            content = {"content": {"quiet_hours": hours}}
            async with http.put("/api/v1/profiles/night", json=content) as answer:
                assert answer.status == 200, await answer.text()
            path, body = f"/api/v1/devices/{KITCHEN}/profile", {"profile": "night"}
            async with http.put(path, json=body) as answer:
                assert answer.status == 200, await answer.text()
        await expect(page.locator(".page-head").get_by_text("night")).to_be_visible()
        await page.get_by_label("What to say").fill(NEWS)
        await page.get_by_role("button", name="Say", exact=True).click()
        await expect(
            page.get_by_text(f"Quiet hours until {ends}: nothing was said.")
        ).to_be_visible()
        await expect(page.get_by_label("What to say")).to_have_value(NEWS)
        await page.get_by_label("When", exact=True).select_option("high")
        await page.get_by_role("button", name="Say", exact=True).click()
        await expect(page.get_by_text("It was said.")).to_be_visible()

        await visit.enter("#/profiles/night")
        field = page.get_by_label("Quiet hours, such as 22:00-07:00")
        await expect(field).to_have_value(hours)


async def test_what_it_could_only_show_is_called_so(tmp_path: Path, open_visit: OpenVisit) -> None:
    from playwright.async_api import expect

    async with idle(tmp_path, speak_request=False) as (house, device):
        visit = await open_visit(house)
        page = visit.page
        await visit.enter(HERE)
        await page.get_by_label("What to say").fill(NEWS)
        await page.get_by_role("button", name="Say", exact=True).click()
        shown = page.get_by_text("Shown on its screen: this firmware cannot be made to speak")
        await expect(shown).to_be_visible(timeout=15_000)
        turn = page.locator("vx-turn").last
        await expect(turn).to_contain_text("not said: shown on its screen")
        await visit.enter("#/memory")
        async with house.api() as http:
            body = {"device": KITCHEN, "text": "take the pill"}
            async with http.post("/api/v1/reminders", json=body) as answer:
                assert answer.status == 201
        line = page.locator(".line", has_text="take the pill")
        await expect(line.locator(".badge", has_text="Shown, not said yet")).to_be_visible(
            timeout=15_000
        )
        await expect(line).to_contain_text("Shown on the screen (")
        await device.toggle()
        await expect(line.locator(".badge", has_text="Said")).to_be_visible(timeout=30_000)
        await expect(line).not_to_contain_text("Shown on the screen")

"""A device is added: by its code or without one, until it has answered for the first time."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from firmware_test_client import SimulatedDevice
from tests.console.conftest import OpenVisit
from tests.console.house import ConsoleHouse

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = pytest.mark.slow

KITCHEN = "02:00:00:00:00:11"
ATTIC = "02:00:00:00:00:1a"


@asynccontextmanager
async def visitor(house: ConsoleHouse, device_id: str = KITCHEN) -> AsyncIterator[SimulatedDevice]:
    """Have a device ask the server until the block ends; it talks once it is let in."""
    device, starting = await house.visitor(house.device(device_id=device_id, client_id=device_id))
    try:
        yield device
    finally:
        starting.cancel()
        await asyncio.wait([starting])
        await device.close()


async def is_there(page: Page, device_id: str = KITCHEN) -> None:
    """Wait until the page is green."""
    from playwright.async_api import expect

    await expect(page.locator(".add-there")).to_contain_text("It is connected")
    await expect(page.locator(".add-there")).to_contain_text(device_id)


async def test_a_device_is_added_by_its_code_named_and_heard(
    house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    from playwright.async_api import expect

    visit = await open_visit(house)
    page = visit.page
    async with house.api() as http:
        body = {"content": {"wake_reply": "At your service."}}
        async with http.put("/api/v1/profiles/butler", json=body) as answer:
            assert answer.status == 200
    await visit.enter("#/devices")
    await page.get_by_role("link", name="Add a device").click()
    await expect(page.locator(".add-step h2").nth(1)).to_have_text("Enter this server's address")
    await expect(page.locator(".add-step .ota")).to_have_text(house.ota_url)
    await expect(page.locator(".add-step .notice.warn").first).to_contain_text("Only this computer")
    await expect(page.locator(".add-waiting")).to_contain_text("Waiting for the device")
    async with visitor(house) as device, visitor(house, ATTIC):
        shown = await device.wait_for_activation()
        assert shown.code
        await expect(page.locator(".claim .code")).to_have_count(2)
        visit.watch.expect(404, "/api/v1/devices/claim")
        code = page.get_by_label("Code", exact=True)
        await code.fill("000000" if shown.code != "000000" else "000001")
        await page.get_by_role("button", name="Add", exact=True).click()
        await expect(page.locator(".field-error")).to_contain_text("000000")
        await code.fill(f"{shown.code[:3]} {shown.code[3:]}")
        await page.get_by_role("button", name="Add", exact=True).click()
        await is_there(page)
        await expect(page).to_have_url(re.compile("#/add/02"))

        await page.get_by_label("Name", exact=True).fill("Kitchen")
        await page.get_by_label("Room", exact=True).fill("Ground floor")
        await page.get_by_label("Profile", exact=True).select_option("butler")
        await page.get_by_role("button", name="Save").click()
        await expect(page.locator(".toast")).to_have_text("Saved.")
        async with house.api() as http, http.get(f"/api/v1/devices/{KITCHEN}") as answer:
            known = await answer.json()
        assert (known["name"], known["place"], known["profile"]) == (
            "Kitchen",
            "Ground floor",
            "butler",
        )
        async with house.api() as http, http.get("/api/v1/places") as answer:
            assert (await answer.json())["places"] == [
                {"name": "Ground floor", "devices": [KITCHEN]}
            ]

        await expect(page.locator(".add-works")).to_be_hidden()
        reply = await device.type_text("what time is it")
        await expect(page.locator(".bubble.user")).to_have_text("what time is it")
        await expect(page.locator(".bubble.assistant")).to_contain_text(reply.text)
        await expect(page.locator(".add-works")).to_have_text("It works.")
        await page.reload()
        await is_there(page)
        await expect(page.get_by_label("Name", exact=True)).to_have_value("Kitchen")
        await page.get_by_role("link", name="Add another one").click()
        await expect(page.locator(".add-step")).to_have_count(4)
        await expect(page.locator(".claim .code")).to_have_count(1)


async def test_a_device_that_waits_is_added_from_the_list(
    house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    from playwright.async_api import expect

    visit = await open_visit(house)
    page = visit.page
    async with visitor(house) as device, visitor(house, ATTIC):
        await visit.enter("#/devices")
        shown = await device.wait_for_activation()
        await expect(page.locator(".claim .code")).to_have_count(2)
        await page.locator(".claim", has_text=shown.code).get_by_role("link", name="Add").click()
        await expect(page.get_by_label("Code", exact=True)).to_have_value(shown.code)
        await expect(page.locator(".add-step")).to_have_count(1)
        await expect(page.locator(".claim .code")).to_have_text(shown.code)
        await page.get_by_role("button", name="Add", exact=True).click()
        await is_there(page)
        await page.get_by_role("link", name="Devices", exact=True).click()
        await expect(page.locator(".claim .code")).to_have_count(1)
        await expect(page.locator(".device vx-state", has_text="Ready")).to_have_count(1)
        await device.close()
        await expect(page.locator(".device vx-state", has_text="Asleep")).to_have_count(1)


@pytest.mark.parametrize("access", ["open", "allow_list"])
async def test_a_device_without_a_code_is_added(
    tmp_path: Path, open_visit: OpenVisit, access: str
) -> None:
    from playwright.async_api import expect

    house = ConsoleHouse(tmp_path, access=access)
    async with house.serving():
        visit = await open_visit(house)
        page = visit.page
        await visit.enter("#/add")
        await expect(page.locator(".add-waiting")).to_contain_text("Waiting for the device")
        if access == "allow_list":
            await page.get_by_label("MAC address", exact=True).fill(KITCHEN.upper())
            await page.get_by_role("button", name="Add", exact=True).click()
            await expect(page.locator(".add-waiting")).to_contain_text("Added")
        else:
            await expect(page.get_by_label("Code", exact=True)).to_have_count(0)
        # A device of the firmware asks for its address, and connects when somebody speaks to it.
        device = SimulatedDevice(house.device(device_id=KITCHEN))
        try:
            await device.boot()
            await is_there(page)
            await expect(page.locator(".add-arrival vx-state")).to_have_text("Asleep")
            await device.connect()
            await device.type_text("hello")
            await expect(page.locator(".add-works")).to_have_text("It works.")
        finally:
            await device.close()

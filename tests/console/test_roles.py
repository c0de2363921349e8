"""A role that a device has taken by voice is shown on its page, and ended there."""

from __future__ import annotations

import pytest

from tests.console.axe import check_accessibility
from tests.console.conftest import OpenVisit
from tests.console.house import ConsoleHouse

pytestmark = pytest.mark.slow

ROOM = "02:00:00:00:00:13"


async def test_a_role_is_shown_and_ended(house: ConsoleHouse, open_visit: OpenVisit) -> None:
    from playwright.async_api import expect

    visit = await open_visit(house)
    page = visit.page
    async with (
        house.api() as http,
        house.member("Room", device_id=ROOM, mode="manual") as device,
    ):
        for name, content in (("young", {"roles": ["storyteller"]}), ("storyteller", {})):
            async with http.put(f"/api/v1/profiles/{name}", json={"content": content}) as answer:
                assert answer.status < 300, await answer.text()
        path = f"/api/v1/devices/{ROOM}/profile"
        async with http.put(path, json={"profile": "young"}) as answer:
            assert answer.status == 200
        await device.reconnect()
        await visit.enter(f"#/device/{ROOM.replace(':', '%3A')}")
        await expect(page.locator("h1")).to_have_text("Room")
        role = page.locator(".role")
        await expect(role).to_be_hidden()
        await device.press_to_talk("switch to the storyteller")
        await expect(role).to_contain_text("It has taken the role “storyteller” by voice")
        await check_accessibility(page)
        await role.get_by_role("button", name="End the role").click()
        await expect(role).to_be_hidden()

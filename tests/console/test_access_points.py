"""The address at which MCP servers of a user connect: made, read, used, revoked in the browser."""

from __future__ import annotations

import pytest

from tests.console.axe import check_accessibility
from tests.console.conftest import OpenVisit
from tests.console.house import ConsoleHouse
from tests.console.test_profiles import make
from tests.support.access_server import server_at, tool

pytestmark = pytest.mark.slow


async def test_an_address_of_a_profile(house: ConsoleHouse, open_visit: OpenVisit) -> None:
    from playwright.async_api import expect

    visit = await open_visit(house)
    page = await make(visit, "lamps")
    card = page.locator(".card", has=page.get_by_role("heading", name="Your own MCP servers"))
    await card.get_by_role("button", name="Create an address").click()
    address = card.locator("code.ota")
    await expect(address).to_contain_text("/mcp/?token=vixio_mcp_")
    await expect(card.get_by_role("img", name="The address as a QR code")).to_be_visible()
    await expect(card.get_by_role("button", name="Copy")).to_be_visible()
    await expect(card).to_contain_text("No server is connected.")
    await check_accessibility(page)
    token = (await address.inner_text()).partition("?")[2]
    url = f"ws://127.0.0.1:{house.http_port}/mcp/?{token}"
    async with server_at(url, "Home", tool("on", "Turn the lamp on")):
        await expect(card.locator("summary")).to_contain_text("profile/Home 1 tool")
        await card.locator("summary").click()
        await expect(card).to_contain_text("Turn the lamp on")
        await page.reload()
        await expect(card.locator("summary")).to_contain_text("profile/Home")
        await expect(address).to_have_count(0)  # it is shown once
        await card.get_by_role("button", name="Revoke").click()
        await page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
        await expect(card.get_by_role("button", name="Create an address")).to_be_visible()

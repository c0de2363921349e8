"""The first page: who is awake, today, what comes next, and what is wrong with what mends it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.console.conftest import OpenVisit
from tests.console.house import ConsoleHouse

if TYPE_CHECKING:
    from playwright.async_api import Locator, Page, Route

pytestmark = pytest.mark.slow

KITCHEN = "02:00:00:00:00:11"
BEDROOM = "02:00:00:00:00:12"
ATTIC = "02:00:00:00:00:1a"

REACHABLE = "http://192.168.1.20:8003/xiaozhi/ota/"


def trouble(page: Page, words: str) -> Locator:
    return page.locator(".home-trouble", has_text=words)


async def reachable(page: Page) -> None:
    """Have the server state an address that devices reach; that of a test is of this computer."""

    async def answer(route: Route) -> None:
        found: dict[str, Any] = await (await route.fetch()).json()
        await route.fulfill(json={**found, "ota_url": REACHABLE})

    await page.route(re.compile(r"/api/v1/server$"), answer)


async def test_an_empty_server_leads_to_a_first_device(
    house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    from playwright.async_api import expect

    visit = await open_visit(house)
    page = visit.page
    await visit.go()
    await visit.settled()
    await visit.sign_in()
    await page.wait_for_url("**#/home")
    welcome = page.locator(".home-welcome")
    await expect(welcome.get_by_role("link", name="Talk")).to_have_attribute("href", "#/talk")
    await expect(trouble(page, "Devices cannot reach this server")).to_contain_text(house.ota_url)
    await trouble(page, house.ota_url).get_by_role("link").click()
    await expect(page.locator(".add-step .notice")).to_contain_text("server.public_url")
    await page.go_back()
    await welcome.get_by_role("link", name="Add a device").click()
    await page.wait_for_url("**#/add")


async def test_a_day_with_two_devices(house: ConsoleHouse, open_visit: OpenVisit) -> None:
    from playwright.async_api import expect

    visit = await open_visit(house)
    page = visit.page
    await reachable(page)
    async with house.member("Bedroom", device_id=BEDROOM):
        pass
    async with house.member("Kitchen", device_id=KITCHEN) as device:
        await visit.enter("#/home")
        awake = page.locator(".home-cards .line", has_text="Kitchen")
        await expect(awake.locator("vx-state")).to_have_text("Ready")
        await expect(page.locator(".home-asleep")).to_have_text("Asleep: Bedroom")
        await expect(page.locator(".home-well")).to_have_text("Everything works.")
        await expect(page.locator(".home-turns")).to_have_text("Nobody has spoken today.")
        await expect(page.get_by_text("No reminder or alarm is set.")).to_be_visible()

        reply = await device.type_text("what time is it")
        await expect(awake.locator(".home-words")).to_have_text(reply.text)
        await expect(page.locator(".home-turns")).to_have_text("1 turn")
        await expect(page.get_by_text("All were answered.")).to_be_visible()
        await device.type_text("what is the capital of France")
        await expect(page.locator(".home-turns")).to_have_text("2 turns")
        await expect(page.locator(".home-well")).to_be_visible()  # nothing is to be mended
        await page.get_by_role("link", name="1 not understood").click()
        await page.wait_for_url("**#/conversations?outcome=not_understood&day=*")
        await expect(page.locator("main vx-turn")).to_have_count(1)
        await expect(page.locator("main vx-turn")).to_contain_text("capital of France")
        await page.go_back()

        async with house.api() as http:
            body = {"device": "Bedroom", "text": "feed the cat", "in_seconds": 3 * 86_400}
            async with http.post("/api/v1/reminders", json=body) as answer:
                assert answer.status == 201, await answer.text()
        next_one = page.locator(".home-cards .line", has_text="feed the cat")
        await expect(next_one.get_by_role("link", name="Bedroom")).to_be_visible()
        await expect(next_one.locator(".line-more")).to_contain_text(re.compile(r"day .*\d:\d\d"))
        await awake.get_by_role("link", name="Kitchen").click()
        await page.wait_for_url("**#/device/02*")
        await page.go_back()
        await expect(page.locator(".home-asleep")).to_have_text("Asleep: Bedroom")
        await device.close()
        await expect(page.locator(".home-asleep")).to_have_text("Asleep: Kitchen, Bedroom")
        await expect(page.get_by_text("No device is awake.")).to_be_visible()


async def test_a_device_that_waits_leads_to_its_code(
    house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    from playwright.async_api import expect

    visit = await open_visit(house)
    page = visit.page
    await visit.enter("#/home")
    device, starting = await house.visitor(house.device(device_id=ATTIC))
    shown = await device.wait_for_activation()
    assert shown.code
    await expect(trouble(page, shown.code)).to_contain_text(
        "A new esp-box-3 is waiting to be added."
    )
    await trouble(page, shown.code).get_by_role("link", name="Add it").click()
    await expect(page.get_by_label("Code", exact=True)).to_have_value(shown.code)
    await page.get_by_role("button", name="Add", exact=True).click()
    await starting
    await page.locator(".add-there").wait_for()
    await page.get_by_role("link", name="Home").click()
    await expect(page.locator(".home-cards vx-state")).to_have_text("Ready")
    await expect(trouble(page, "is waiting to be added")).to_have_count(0)
    await device.close()


async def test_what_failed_is_named_with_what_mends_it(
    tmp_path: Path, open_visit: OpenVisit
) -> None:
    from playwright.async_api import expect

    settings = (
        "agent: {name: openai, base_url: 'http://127.0.0.1:9/v1', model: m, api_key: k}\n"
        "mcp_servers: {lights: {url: 'http://127.0.0.1:9/mcp'}}\n"
    )
    house = ConsoleHouse(tmp_path, settings)
    house.fails = True
    async with house.serving():
        visit = await open_visit(house)
        page = visit.page
        async with house.member("Kitchen", device_id=KITCHEN) as device:
            await visit.enter("#/home")
            await expect(trouble(page, "The tools of lights")).to_be_visible()
            await expect(trouble(page, "The model, openai, has failed")).to_contain_text("refused")
            await expect(page.locator(".home-well")).to_have_count(0)
            await device.type_text("what time is it")
            await expect(trouble(page, "Kitchen had no answer")).to_be_visible()
            await page.reload()
            await expect(trouble(page, "Kitchen had no answer")).to_be_visible()
            await expect(page.get_by_role("link", name="1 failed")).to_be_visible()
            await trouble(page, "Kitchen").get_by_role("link", name="See why").click()
            await expect(page.locator("vx-turn .turn-error")).to_be_visible()
            await page.go_back()
            await trouble(page, "lights").get_by_role("link", name="Look at them").click()
            await expect(page.locator("[data-part=tools]")).to_contain_text("lights")


async def test_errors_of_the_log_lead_to_it(house: ConsoleHouse, open_visit: OpenVisit) -> None:
    from playwright.async_api import expect

    asked: list[str] = []

    async def noted(route: Route) -> None:
        asked.append(route.request.url)
        await route.fulfill(json={"lines": [{}], "next": 0, "withheld": 0})

    visit = await open_visit(house)
    page = visit.page
    await reachable(page)
    await page.route("**/api/v1/server/log?*", noted)
    await visit.enter("#/home")
    await expect(trouble(page, "One error is in the log of the last hour.")).to_be_visible()
    assert "level=ERROR" in asked[0]
    await page.unroute_all()
    await page.get_by_role("link", name="See the log").click()
    await page.wait_for_url("**#/server/log")


async def test_a_database_that_is_away_is_said(house: ConsoleHouse, open_visit: OpenVisit) -> None:
    from playwright.async_api import expect

    async def away(route: Route) -> None:
        if route.request.url.endswith("/server"):
            found = await (await route.fetch()).json()
            await route.fulfill(json={**found, "troubles": {"database": "no connection"}})
        else:
            await route.fulfill(status=503, json={"detail": "the database is away"})

    visit = await open_visit(house)
    page = visit.page
    await visit.enter("#/login")
    visit.watch.expect(503, "/api/v1/")
    await page.route(re.compile(r"/api/v1/(server|devices.*|statistics.*)$"), away)
    await visit.go("#/home")
    await expect(trouble(page, "The database cannot be reached")).to_contain_text("no connection")
    await expect(page.locator("main .notice.bad", has_text="database is away")).to_be_visible()
    await page.unroute_all()
    await page.get_by_role("button", name="Try again").click()
    await expect(page.locator(".home-welcome")).to_be_visible()

"""A thousand devices in the console, of which many change at once."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp
import pytest
import pytest_asyncio

from tests.console.conftest import OpenVisit
from tests.console.house import ConsoleHouse
from tests.console.talking import PATIENCE_MS
from tests.support.waiting import until
from vixio.bench.load.registered import registry_of

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = pytest.mark.slow

MANY = 1_000

CHANGED = 120
"""At once: each is an event, and the API takes 600 requests a minute."""


@pytest_asyncio.fixture(loop_scope="session")
async def crowded(tmp_path: Path) -> AsyncIterator[ConsoleHouse]:
    """A server that knows many devices."""
    house = ConsoleHouse(tmp_path)
    (tmp_path / "data").mkdir(exist_ok=True)
    await asyncio.to_thread(registry_of, tmp_path / "data", MANY)
    async with house.serving():
        yield house


async def rename(http: aiohttp.ClientSession, number: int, name: str) -> None:
    path = f"/api/v1/devices/06:00:00:00:00:{number:02x}"
    async with http.patch(path, json={"name": name}) as answer:
        assert answer.status == 200, await answer.text()


async def listed(crowded: ConsoleHouse, open_visit: OpenVisit) -> Page:
    """Open the list of devices; it is read and follows, and nothing of it is being read."""
    from playwright.async_api import expect

    visit = await open_visit(crowded)
    await visit.enter("#/devices")
    await expect(visit.page.locator(".device")).to_have_count(MANY)
    await visit.page.locator("[data-state=open]").wait_for(state="attached")
    lists = re.compile(r"/api/v1/devices\?").search
    await until(lambda: not any(lists(request.url) for request in visit.watch.under_way))
    return visit.page


async def test_a_thousand_devices_are_found_and_follow(
    crowded: ConsoleHouse, open_visit: OpenVisit
) -> None:
    from playwright.async_api import expect

    visit = await open_visit(crowded)
    asked: list[str] = []
    visit.page.on("request", lambda request: asked.append(request.url))
    await visit.enter("#/devices")
    page = visit.page
    await expect(page.locator(".device")).to_have_count(MANY)
    await page.get_by_label("Search").fill("device 77")
    await expect(page.locator(".device")).to_have_count(11)  # 77, 770 to 779
    await page.get_by_label("Search").fill("moved")
    await expect(page.get_by_text("No device matches.")).to_be_visible()
    asked.clear()
    began = time.monotonic()
    async with crowded.api() as http:
        for each in range(CHANGED):
            await rename(http, each, f"Moved {each}")
    await expect(page.locator(".device")).to_have_count(CHANGED, timeout=PATIENCE_MS)
    # Three are read one by one in a quarter of a second, or all in two seconds (lib/devices.js).
    took = time.monotonic() - began
    assert len(asked) < CHANGED
    assert len(asked) <= 1 + took * (3 / 0.25 + 1 / 2)


async def test_a_device_that_begins_to_match_is_listed(
    crowded: ConsoleHouse, open_visit: OpenVisit
) -> None:
    """It is read alone, and had a row that was taken off the list."""
    from playwright.async_api import expect

    page = await listed(crowded, open_visit)
    await page.get_by_label("Search").fill("moved")
    await expect(page.get_by_text("No device matches.")).to_be_visible()
    async with crowded.api() as http:
        await rename(http, 5, "Moved")
    await expect(page.locator(".device")).to_have_count(1, timeout=PATIENCE_MS)


async def test_what_is_read_alone_is_newer_than_a_list_that_comes_late(
    crowded: ConsoleHouse, open_visit: OpenVisit
) -> None:
    """A profile has all devices read; another change comes while that is under way."""
    from playwright.async_api import Route, expect

    page = await listed(crowded, open_visit)
    held, released = asyncio.Event(), asyncio.Event()

    async def hold(route: Route) -> None:
        answer = await route.fetch()
        held.set()
        await released.wait()
        await route.fulfill(response=answer)

    await page.route("**/api/v1/devices?*", hold)
    async with crowded.api() as http, asyncio.timeout(120):
        content = {"content": {"wake_reply": "Yes?"}}
        async with http.put("/api/v1/profiles/butler", json=content) as answer:
            assert answer.status in {200, 201}, await answer.text()
        await held.wait()
        await rename(http, 5, "Alone")
        await expect(page.get_by_text("Alone")).to_be_visible(timeout=PATIENCE_MS)
        released.set()
        await rename(http, 6, "Later")
        await expect(page.get_by_text("Later")).to_be_visible(timeout=PATIENCE_MS)
        await expect(page.get_by_text("Alone")).to_be_visible(timeout=1)


async def test_what_is_read_alone_and_comes_behind_a_list_is_taken(
    crowded: ConsoleHouse, open_visit: OpenVisit
) -> None:
    """The list has begun before the change, and comes between the question and its answer."""
    from playwright.async_api import Route, expect

    page = await listed(crowded, open_visit)
    list_asked, list_may_come = asyncio.Event(), asyncio.Event()
    one_asked, one_may_come = asyncio.Event(), asyncio.Event()

    async def hold_list(route: Route) -> None:
        answer = await route.fetch()
        text = (await answer.text()).replace('"Device 900"', '"Of the list"')
        list_asked.set()
        await list_may_come.wait()
        await route.fulfill(response=answer, body=text)

    async def hold_one(route: Route) -> None:
        answer = await route.fetch()
        one_asked.set()
        await one_may_come.wait()
        await route.fulfill(response=answer)

    await page.route("**/api/v1/devices?*", hold_list)
    await page.route("**/api/v1/devices/06*", hold_one)
    async with crowded.api() as http, asyncio.timeout(120):
        content = {"content": {"wake_reply": "Well?"}}
        async with http.put("/api/v1/profiles/butler", json=content) as answer:
            assert answer.status in {200, 201}, await answer.text()
        await list_asked.wait()
        await rename(http, 8, "Behind")
        await one_asked.wait()
        list_may_come.set()
        await expect(page.get_by_text("Of the list")).to_be_visible(timeout=PATIENCE_MS)
        one_may_come.set()
        await expect(page.get_by_text("Behind")).to_be_visible(timeout=PATIENCE_MS)


COUNT_CHANGES = """() => {
  window.changes = { list: 0, rows: new Set() };
  new MutationObserver((records) => {
    for (const { target } of records) {
      const element = target.nodeType === 1 ? target : target.parentElement;
      const row = element?.closest(".device");
      if (row) changes.rows.add(row);
      else changes.list += 1;
    }
  }).observe(document.querySelector(".device-list"), {
    childList: true, subtree: true, characterData: true,
  });
}"""
"""Notes which rows of the list are changed, and how often the list itself is."""


async def test_an_event_changes_its_own_row_and_no_other(
    crowded: ConsoleHouse, open_visit: OpenVisit
) -> None:
    from playwright.async_api import expect

    async with crowded.member("Kitchen", device_id="02:00:00:00:00:11", mode="manual") as device:
        visit = await open_visit(crowded)
        await visit.enter("#/devices")
        page = visit.page
        await expect(page.locator(".device")).to_have_count(MANY + 1)
        await page.evaluate(COUNT_CHANGES)
        for words in ("what time is it", "what can you do", "set the volume to thirty percent"):
            await device.type_text(words)
        await expect(page.locator(".said").first).to_have_text("The volume is now 30 percent.")
        names = await page.evaluate(
            "[...changes.rows].map((row) => row.querySelector('.device-name').textContent)"
        )
        assert names == ["Kitchen"]
        assert await page.evaluate("changes.list") == 0

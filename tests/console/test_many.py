"""A thousand devices in the console, of which many change at once."""

from __future__ import annotations

import asyncio
import re
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp
import pytest
import pytest_asyncio

from tests.console.conftest import OpenVisit
from tests.console.house import ConsoleHouse
from tests.support.waiting import until
from vixio_bench.load.registered import registry_of

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


HOLD = """() => {
  const ask = window.fetch;
  window.fetch = async (url, options) => {
    const found = /\\/api\\/v1\\/devices(\\?|\\/06)/.exec(url);
    const answer = await ask(url, options);
    if (!found || !answer.ok) return answer;
    const text = await answer.text();
    const shown = await window.heldBack(found[1] === "?" ? "list" : "one", text);
    return new Response(shown, { headers: { "Content-Type": "application/json" } });
  };
}"""
"""Holds answers back whose questions are asked from now on.

In the page: an answer that is held back outside it meets the time that the page allows for one.
"""


@dataclass
class Held:
    """Answers of the API that the page gets later. A device is called ``of_list`` in the list's."""

    of_list: str
    asked: dict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))
    """By what was asked for, ``list`` or ``one``: the server has answered."""
    released: dict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))

    async def hold(self, kind: str, text: str) -> str:
        """Return an answer as the page gets it, when it may have it."""
        self.asked[kind].set()
        await self.released[kind].wait()
        return text.replace('"Device 900"', f'"{self.of_list}"')


# Where a thousand rows are shown, nothing is waited for by ``expect``: what is not met at once, it
# describes for its report, which holds the page up for seconds, or half a minute if others run.


async def counted(page: Page, many: int) -> None:
    """Wait until so many devices are listed, and no more."""
    rows = page.locator(".device")
    await rows.nth(many - 1).wait_for(state="attached")
    assert await rows.count() == many


async def named(page: Page, name: str) -> None:
    """Wait until a device of this name is listed."""
    await page.locator(".device-name", has_text=name).wait_for()


async def listed(crowded: ConsoleHouse, open_visit: OpenVisit) -> Page:
    """Open the list of devices; it is read and follows, and nothing of it is being read."""
    visit = await open_visit(crowded)
    await visit.enter("#/devices")
    await counted(visit.page, MANY)
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
    await counted(page, MANY)
    await page.get_by_label("Search").fill("device 77")
    await expect(page.locator(".device")).to_have_count(11)  # 77, 770 to 779
    await page.get_by_label("Search").fill("moved")
    await expect(page.get_by_text("No device matches.")).to_be_visible()
    asked.clear()
    began = time.monotonic()
    async with crowded.api() as http:
        for each in range(CHANGED):
            await rename(http, each, f"Moved {each}")
    await expect(page.locator(".device")).to_have_count(CHANGED)
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
    await expect(page.locator(".device")).to_have_count(1)


async def test_what_is_read_alone_is_newer_than_a_list_that_comes_late(
    crowded: ConsoleHouse, open_visit: OpenVisit
) -> None:
    """A profile has all devices read; another change comes while that is under way."""
    held = Held(of_list="Of the list")
    page = await listed(crowded, open_visit)
    await page.expose_function("heldBack", held.hold)
    await page.evaluate(HOLD)
    held.released["one"].set()
    async with crowded.api() as http, asyncio.timeout(120):
        content = {"content": {"wake_reply": "Yes?"}}
        async with http.put("/api/v1/profiles/butler", json=content) as answer:
            assert answer.status in {200, 201}, await answer.text()
        await held.asked["list"].wait()
        await rename(http, 5, "Alone")
        await named(page, "Alone")
        held.released["list"].set()
        await named(page, "Of the list")
        assert await page.locator(".device-name", has_text="Alone").count() == 1
        await rename(http, 6, "Later")
        await named(page, "Later")


async def test_what_is_read_alone_and_comes_behind_a_list_is_taken(
    crowded: ConsoleHouse, open_visit: OpenVisit
) -> None:
    """The list has begun before the change, and comes between the question and its answer."""
    held = Held(of_list="Of the list")
    page = await listed(crowded, open_visit)
    await page.expose_function("heldBack", held.hold)
    await page.evaluate(HOLD)
    async with crowded.api() as http, asyncio.timeout(120):
        content = {"content": {"wake_reply": "Well?"}}
        async with http.put("/api/v1/profiles/butler", json=content) as answer:
            assert answer.status in {200, 201}, await answer.text()
        await held.asked["list"].wait()
        await rename(http, 8, "Behind")
        await held.asked["one"].wait()
        held.released["list"].set()
        await named(page, "Of the list")
        held.released["one"].set()
        await named(page, "Behind")


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
    async with crowded.member("Kitchen", device_id="02:00:00:00:00:11", mode="manual") as device:
        visit = await open_visit(crowded)
        await visit.enter("#/devices")
        page = visit.page
        await counted(page, MANY + 1)
        await page.evaluate(COUNT_CHANGES)
        for words in ("what time is it", "what can you do", "set the volume to thirty percent"):
            await device.type_text(words)
        await page.locator(".said", has_text="The volume is now 30 percent.").wait_for()
        names = await page.evaluate(
            "[...changes.rows].map((row) => row.querySelector('.device-name').textContent)"
        )
        assert names == ["Kitchen"]
        assert await page.evaluate("changes.list") == 0

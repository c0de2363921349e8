"""A server that is restarted, and many tabs."""

from __future__ import annotations

from pathlib import Path

from tests.console.conftest import OpenVisit
from tests.console.house import ConsoleHouse

KITCHEN = "02:00:00:00:00:01"

TABS = 7
"""One more than a browser keeps connections to a server."""


async def test_a_page_comes_back_after_a_restart(tmp_path: Path, open_visit: OpenVisit) -> None:
    house = ConsoleHouse(tmp_path)
    async with house.serving():
        visit = await open_visit(house)
        await visit.enter()
        visit.watch.expect_unreachable()
    lost = visit.page.locator(".feed-status:not(:empty)")
    await lost.wait_for()
    async with house.serving():
        await lost.wait_for(state="detached")
        visit.watch.expect_unreachable(False)
        # It is up to date again, by itself.
        async with house.member("Kitchen", device_id=KITCHEN):
            await visit.page.locator(".device", has_text="Kitchen").wait_for()
        visit.watch.expect_unreachable()  # the page stays open while the server ends


async def test_seven_tabs_follow_what_happens(house: ConsoleHouse, open_visit: OpenVisit) -> None:
    visit = await open_visit(house)
    await visit.enter()
    pages = [visit.page, *[await visit.another("#/devices") for _ in range(TABS - 1)]]
    for page in pages:
        await page.get_by_role("heading", name="Devices").wait_for()
    async with house.member("Kitchen", device_id=KITCHEN, mode="manual") as device:
        for page in pages:
            await page.locator(".device", has_text="Kitchen").wait_for()
        assert (await device.type_text("what time is it")).text
        for page in pages:
            await page.locator(".heard", has_text="what time is it").wait_for()
    for page in pages:
        await page.reload()
        await page.locator(".device", has_text="Kitchen").wait_for()

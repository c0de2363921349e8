"""Ready tools and music on the page "Assistant"."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.console.axe import check_accessibility
from tests.console.fresh_house import FreshHouse, asked, begin, error_of, fresh
from vixio_bench.vendors.ready.service import ReadyService, calendar

if TYPE_CHECKING:
    from tests.console.conftest import OpenVisit

WEATHER = "what is the weather"
SECRET = "a-family-of-its-own"
SAVED = "Saved. It applies from the next turn."


@asynccontextmanager
async def trusting(folder: Path) -> AsyncIterator[FreshHouse]:
    """Run a server whose console users may do what its operator may."""
    house = FreshHouse(folder)
    file = folder / "vixio.yaml"
    file.write_text(file.read_text("utf-8").replace("api: {", "api: {programs: true, "), "utf-8")
    async with house.serving():
        yield house


async def test_a_tool_is_tried_switched_on_and_taken_away(
    tmp_path: Path, open_visit: OpenVisit
) -> None:
    async with ReadyService() as service:
        service.calendars[SECRET] = calendar("DTSTART:20260101T100000Z\nSUMMARY:Tea")
        data = tmp_path / "data"
        data.mkdir()
        before = {"tools": {"ready": {"weather": service.settings()["weather"]}}}
        (data / "assistant.yaml").write_text(json.dumps(before))
        async with trusting(tmp_path) as house:
            assert "Berlin" not in await asked(house, WEATHER)
            visit = await open_visit(house)
            page = await begin(visit, "#/assistant")
            weather = page.locator("[data-ready=weather]")
            await weather.get_by_role("button", name="Change").click()
            dialog = page.get_by_role("dialog")
            await dialog.get_by_label("Place").fill("Nowhere")
            await dialog.get_by_role("button", name="Try and use it").click()
            await error_of(page, "Place").get_by_text("no place is called").wait_for()
            await dialog.get_by_label("Place").fill("Berlin")
            await dialog.get_by_role("button", name="Try and use it").click()
            await dialog.wait_for(state="detached")
            await weather.get_by_text("It works:").wait_for()
            await weather.get_by_text("Berlin").wait_for()

            await page.locator("[data-ready=calculator] input").check()
            await page.locator("[data-ready=calendar] input").check()
            addresses = dialog.get_by_label("Addresses of calendars")
            visit.watch.expect(422, r"/assistant/try$")
            await addresses.fill("nowhere")
            await dialog.get_by_role("button", name="Try and use it").click()
            await error_of(page, "Addresses of calendars").get_by_text("iCal").wait_for()
            await addresses.fill(f"{service.http}/calendars/{SECRET}")
            await dialog.get_by_role("button", name="Try and use it").click()
            await page.locator("[data-ready=calendar]").get_by_text("1 calendar").wait_for()

            await check_accessibility(page)
            bar = page.locator(".save-bar")
            await bar.get_by_text("Not saved: ready tools and music.").wait_for()
            await bar.get_by_role("button", name="Save", exact=True).click()
            await page.get_by_text(SAVED).wait_for()
            assert (await asked(house, WEATHER)).startswith("Berlin: rain")
            assert SECRET not in await page.content()

            await page.locator("[data-ready=weather] input").uncheck()
            await bar.get_by_role("button", name="Save", exact=True).click()
            await bar.get_by_role("button", name="Undo the last change").wait_for()
            assert "Berlin" not in await asked(house, WEATHER)
            assert SECRET in house.stored.read_text(), "the address is kept, unseen"
            await bar.get_by_role("button", name="Undo the last change").click()
            await page.get_by_text("Undone. It is as it was before.").wait_for()
            assert (await asked(house, WEATHER)).startswith("Berlin: rain")

            chinese = await open_visit(house, language="zh")
            await begin(chinese, "#/assistant")
            await chinese.page.locator("[data-ready=calendar]").get_by_text("1 个日历").wait_for()
            await check_accessibility(chinese.page)


async def test_what_is_the_operators_is_shown_and_not_changed(
    tmp_path: Path, open_visit: OpenVisit
) -> None:
    async with fresh(tmp_path, "tools: {ready: [calculator, {weather: {place: Ulm}}]}\n") as house:
        visit = await open_visit(house)
        page = await begin(visit, "#/assistant")
        ready = page.locator("[data-part=ready]")
        await ready.get_by_text("in the settings file", exact=True).wait_for()
        await ready.get_by_text("Ulm").wait_for()
        assert await ready.locator("input:enabled").count() == 0
        assert await ready.locator("input:checked").count() == 2
        await page.locator("[data-ready=media] input").check()
        dialog = page.get_by_role("dialog")
        assert await dialog.get_by_label("Folders with music").is_disabled()
        await dialog.get_by_text("it is read from the server's disk").first.wait_for()
        await dialog.get_by_label("Stations").fill("Jazz = http://127.0.0.1:9/jazz")
        await dialog.get_by_role("button", name="Try and use it").click()
        await error_of(page, "Stations").get_by_text("Jazz").wait_for()
        await dialog.get_by_role("button", name="Cancel").click()
        await page.locator("[data-ready=media] input:not(:checked)").wait_for()


async def test_music_is_looked_for_before_it_is_saved(
    tmp_path: Path, open_visit: OpenVisit
) -> None:
    async with trusting(tmp_path) as house:
        visit = await open_visit(house)
        page = await begin(visit, "#/assistant")
        dialog = page.get_by_role("dialog")
        await page.locator("[data-ready=media] input").check()
        await dialog.get_by_label("Folders with music").fill(str(tmp_path / "none"))
        await dialog.get_by_role("button", name="Try and use it").click()
        await error_of(page, "Folders with music").get_by_text("no folder").wait_for()
        await dialog.get_by_label("Folders with music").fill(str(tmp_path))
        await dialog.get_by_role("button", name="Try and use it").click()
        await page.locator("[data-ready=media]").get_by_text("Found: nothing yet").wait_for()

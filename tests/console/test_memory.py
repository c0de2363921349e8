"""The page for memory and people, with a real server, a browser and simulated devices."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import aiohttp
import pytest_asyncio

from tests.console.axe import check_accessibility
from tests.console.conftest import OpenVisit
from tests.console.house import ConsoleHouse

if TYPE_CHECKING:
    from playwright.async_api import Locator, Page

KITCHEN, BATH = "02:00:00:00:00:01", "02:00:00:00:00:02"

ROOMS: Final = f"devices: {{'{KITCHEN}': {{place: kitchen}}, '{BATH}': {{place: bath}}}}\n"

RECALL: Final = "what do you remember about me"


@pytest_asyncio.fixture(loop_scope="session")
async def remembering(tmp_path: Path) -> AsyncIterator[ConsoleHouse]:
    """A running server whose memory is a file, with devices in two rooms."""
    house = ConsoleHouse(tmp_path, ROOMS, memory=True)
    async with house.serving():
        yield house


def card(page: Page, heading: str) -> Locator:
    """Return the card under a heading."""
    return page.locator("section.card", has=page.get_by_role("heading", name=heading, exact=True))


def dialog(page: Page) -> Locator:
    return page.get_by_role("dialog")


async def pressed(within: Locator, name: str) -> None:
    """Press the button of a dialog, and wait until the dialog has closed."""
    await within.get_by_role("button", name=name, exact=True).click()
    await within.wait_for(state="detached")


async def read(http: aiohttp.ClientSession, path: str) -> Any:  # noqa: ANN401 - JSON
    async with http.get(f"/api/v1{path}") as answer:
        assert answer.status == 200, await answer.text()
        return await answer.json()


async def test_a_reminder_is_set_heard_and_cancelled(
    remembering: ConsoleHouse, open_visit: OpenVisit
) -> None:
    async with remembering.member("Kitchen", device_id=KITCHEN, mode="manual") as kitchen:
        visit = await open_visit(remembering)
        await visit.enter("#/memory")
        page = visit.page
        waiting, over = card(page, "Coming up"), card(page, "Past")
        await waiting.get_by_text("Nothing is coming up.").wait_for()

        await page.get_by_role("button", name="New reminder").click()
        there = dialog(page).get_by_label("Device").locator("option")
        assert await there.all_inner_texts() == ["Kitchen"]
        await dialog(page).get_by_label("Text").fill("feed the cat")
        await dialog(page).get_by_label("When").select_option("now")
        await pressed(dialog(page), "Save")
        # Nothing is pressed any more: the stream of events says that it was heard.
        heard = over.locator("li", has_text="feed the cat")
        await heard.get_by_text("Said", exact=True).wait_for()
        assert any("feed the cat" in reply.text for reply in kitchen.replies)

        await page.get_by_role("button", name="New reminder").click()
        await dialog(page).get_by_label("Kind").select_option("alarm")
        await dialog(page).get_by_label("Text").fill("get up")
        await dialog(page).get_by_label("When").select_option("days")
        await pressed(dialog(page), "Save")
        alarm = waiting.locator("li", has_text="get up")
        repeats = alarm.get_by_text("repeats on weekdays at ")
        # By the clock of the browser, which is another one than the assistant's.
        clock = (await repeats.inner_text()).partition(" at ")[2]
        assert clock in await alarm.locator("span", has_text=re.compile(r"\d{4}")).inner_text()
        await alarm.get_by_text("set in the console").wait_for()

        # What is said to the device appears by itself.
        await kitchen.type_text("set a timer for ten minutes")
        await waiting.locator("li", has_text="Timer").wait_for()
        await page.get_by_label("Search reminders").fill("get up")
        await waiting.locator("li", has_text="Timer").wait_for(state="detached")

        await alarm.get_by_role("button", name="Cancel get up").click()
        assert "“get up”" in await dialog(page).inner_text()
        await pressed(dialog(page), "Cancel")
        assert await alarm.count() == 1
        await alarm.get_by_role("button", name="Cancel get up").click()
        await pressed(dialog(page), "Yes, cancel it")
        await alarm.wait_for(state="detached")
        await over.locator("li", has_text="get up").get_by_text("Cancelled").first.wait_for()


async def test_a_room_hears_an_announcement(
    remembering: ConsoleHouse, open_visit: OpenVisit
) -> None:
    async with (
        remembering.member("", device_id=KITCHEN, mode="manual") as kitchen,
        remembering.member("", device_id=BATH, mode="manual") as bath,
    ):
        visit = await open_visit(remembering)
        await visit.enter("#/memory/announce")
        page = visit.page
        await page.get_by_label("What to say").fill("Dinner is ready.")
        await page.get_by_label("Rooms").check()
        await page.get_by_label("kitchen (one device)").check()
        await page.get_by_role("button", name="Announce", exact=True).click()
        await page.get_by_text("said on 1 of 1 devices").wait_for()
        assert any("Dinner is ready." in reply.text for reply in kitchen.replies)
        assert not any("Dinner is ready." in reply.text for reply in bath.replies)


async def test_a_person_is_remembered_and_removed(
    remembering: ConsoleHouse, open_visit: OpenVisit
) -> None:
    async with (
        remembering.member("Kitchen", device_id=KITCHEN, mode="manual") as kitchen,
        remembering.api() as http,
    ):
        visit = await open_visit(remembering)
        await visit.enter("#/memory/people")
        page = visit.page
        await page.get_by_role("button", name="Add a person").click()
        await dialog(page).get_by_label("Name").fill("Anna")
        await pressed(dialog(page), "Add a person")
        await page.get_by_role("heading", name="Anna", exact=True).wait_for()
        await page.get_by_role("button", name="Give a device").click()
        await dialog(page).get_by_label("Device").select_option(KITCHEN)
        await pressed(dialog(page), "Give")
        await page.get_by_label("New fact").fill("is allergic to nuts")
        await page.get_by_role("button", name="Add", exact=True).click()
        await page.get_by_role("button", name="Edit “is allergic to nuts”").click()
        await dialog(page).get_by_role("textbox").fill("is allergic to milk")
        await pressed(dialog(page), "Save")
        await page.locator("li", has_text="is allergic to milk").wait_for()
        await check_accessibility(page)

        # The assistant uses it from one of the device's next turns on.
        async def recalled() -> bool:
            return "allergic to milk" in (await kitchen.type_text(RECALL)).text

        tries = 0
        while not await recalled():
            tries += 1
            assert tries < 20

        await page.get_by_role("button", name="Rename").click()
        await dialog(page).get_by_label("Name").fill("Ann")
        await pressed(dialog(page), "Save")
        await page.get_by_role("heading", name="Ann", exact=True).wait_for()
        await page.get_by_role("button", name="Remove", exact=True).click()
        asked = await dialog(page).inner_text()
        assert "Remove Ann?" in asked
        assert "one fact" in asked
        await pressed(dialog(page), "Cancel")
        assert (await read(http, "/people/Ann/facts"))["facts"] == ["is allergic to milk"]
        await page.get_by_role("button", name="Remove", exact=True).click()
        await pressed(dialog(page), "Remove")
        await page.get_by_text("Nobody has been added yet.").wait_for()
        assert (await read(http, "/people"))["people"] == []


async def test_the_memory_of_a_device_is_edited_and_erased(
    remembering: ConsoleHouse, open_visit: OpenVisit
) -> None:
    from playwright.async_api import expect

    path = f"/devices/{KITCHEN}/memory"
    async with (
        remembering.member("Kitchen", device_id=KITCHEN, mode="manual") as kitchen,
        remembering.api() as http,
    ):
        await kitchen.type_text("remember that I like tea")
        visit = await open_visit(remembering)
        await visit.enter("#/memory/devices")
        page = visit.page
        await page.get_by_role("link", name="Kitchen").click()
        await page.get_by_role("button", name="Edit “I like tea”").wait_for()
        await page.get_by_label("Of what was said").fill("Asked for tea.")
        await card(page, "Summary").get_by_role("button", name="Save").click()
        await page.get_by_text("The summary is saved.").wait_for()
        assert (await read(http, path))["summary"] == "Asked for tea."

        # What another one changes appears, and is not overwritten unseen.
        body = {"summary": "Asked for coffee."}
        async with http.put(f"/api/v1{path}/summary", json=body) as answer:
            assert answer.status == 200
        summary = page.get_by_label("Of what was said")
        await expect(summary).to_have_value("Asked for coffee.")

        await page.get_by_role("button", name="Erase all").click()
        assert "Erase the memory of Kitchen?" in await dialog(page).inner_text()
        await pressed(dialog(page), "Cancel")
        assert (await read(http, path))["facts"] == ["I like tea"]
        await page.get_by_role("button", name="Erase all").click()
        await pressed(dialog(page), "Erase")
        await page.get_by_text("No turn is remembered.").wait_for()
        shown = await read(http, path)
        assert (shown["facts"], shown["summary"], shown["turns"]) == ([], "", [])
        assert kitchen.violations == []

"""The help: a page of the documentation in a phone's window, and the links that lead to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.console.axe import check_accessibility
from tests.console.conftest import OpenVisit
from tests.console.house import ConsoleHouse
from tests.console.visit import PHONE, Language, Theme
from vixio.web.console.help import read_pages

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = pytest.mark.slow

OUTSIDE = """() => [...document.querySelectorAll("body *")]
  .filter((each) => !each.parentElement.closest(".wide, pre"))
  .filter((each) => each.getBoundingClientRect().right > innerWidth)
  .map((each) => each.outerHTML.slice(0, 100))"""
"""Elements that are cut: wider than the window, and in nothing that scrolls."""

JUDGED = ("configuration", "console", "speech")
"""By axe: tables, lists, code of every kind. It takes seconds for a long page."""


async def opened(page: Page, words: str) -> Page:
    """Follow the link to the help, which opens in a page of its own."""
    async with page.context.expect_page() as waiting:
        await page.get_by_role("link", name=words, exact=True).click()
    help_page = await waiting.value
    await help_page.locator("main h1").wait_for()
    return help_page


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_a_page_fits_a_phone(
    shared_house: ConsoleHouse, open_visit: OpenVisit, theme: Theme
) -> None:
    visit = await open_visit(shared_house, theme=theme, window=PHONE)
    for name in read_pages():
        await visit.go(f"help/{name}")
        await visit.page.locator("main h1").wait_for()
        wide = await visit.page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{name} scrolls sideways"
        assert await visit.page.evaluate(OUTSIDE) == [], name
        if name in JUDGED:
            await check_accessibility(visit.page)


@pytest.mark.parametrize(("language", "words"), [("en", "Help"), ("zh", "帮助")])
async def test_a_page_of_the_console_leads_to_its_section(
    shared_house: ConsoleHouse, open_visit: OpenVisit, language: Language, words: str
) -> None:
    visit = await open_visit(shared_house, language=language, window=PHONE)
    await visit.go("#/talk")
    await visit.settled()
    shown = await opened(visit.page, words)
    assert shown.url == shared_house.url("help/console#talk")
    top = await shown.locator("#talk").evaluate("(each) => each.getBoundingClientRect().top")
    assert 0 <= top < PHONE[1] / 2
    await shown.get_by_role("link", name="data.md", exact=True).first.click()
    await shown.wait_for_url("**/console/help/data*")
    await shown.get_by_role("link", name="Vixio", exact=True).click()
    await shown.locator("#main").wait_for()


async def test_a_tab_has_help_of_its_own(shared_house: ConsoleHouse, open_visit: OpenVisit) -> None:
    visit = await open_visit(shared_house)
    await visit.enter("#/server")
    await visit.page.get_by_role("tab", name="Firmware").click()
    shown = await opened(visit.page, "Help")
    assert shown.url == shared_house.url("help/devices#firmware-updates")


async def test_it_is_as_dark_as_the_console(
    shared_house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    visit = await open_visit(shared_house, theme="light")
    await visit.go("#/talk")
    await visit.settled()
    await visit.page.get_by_label("Appearance", exact=True).select_option("dark")
    shown = await opened(visit.page, "Help")
    await shown.wait_for_function("() => document.documentElement.dataset.theme === 'dark'")

"""Every page: in both languages and themes, in a narrow window, to axe, to its policy."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.console.axe import check_accessibility
from tests.console.conftest import OpenVisit
from tests.console.house import ConsoleHouse
from tests.console.household import SLEEPING, TALKING, household
from tests.console.latin import latin_words, shown_text
from tests.console.places import PLACES, Place
from tests.console.visit import DESKTOP, PHONE, Language, Theme, Visit, visiting

if TYPE_CHECKING:
    from playwright.async_api import Browser

Form = tuple[Language, Theme, tuple[int, int]]

FORMS: list[Form] = [
    ("en", "light", DESKTOP),
    ("zh", "dark", PHONE),
    ("en", "dark", PHONE),
]
"""Both languages, themes and windows. Chinese words are shorter than English ones: what fits a wide
window in English does in Chinese."""

NAMES_DEVICES = {
    *("profile", "profiles", "memory", "memory-announce", "memory-people"),
    *("server-log", "server-access", "server-firmware"),
}
"""Pages that call devices by their names, and say in words who has changed something."""

GROUND = "() => getComputedStyle(document.documentElement).backgroundColor"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def inhabited(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ConsoleHouse]:
    """A server with something on each page, which no test here changes."""
    async with household(tmp_path_factory.mktemp("household")) as house:
        yield house


OpenOnce = Callable[[Form, bool], Awaitable[Visit]]
"""Returns the browser of a form that is signed in, or is not."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def visits(inhabited: ConsoleHouse, browser: Browser) -> AsyncIterator[OpenOnce]:
    """The browsers of all pages. Each is opened once, and keeps the files of the console."""
    opened: dict[tuple[Form, bool], Visit] = {}
    async with AsyncExitStack() as stack:

        async def open_once(form: Form, signed_in: bool) -> Visit:
            if (form, signed_in) not in opened:
                language, theme, window = form
                visit = await stack.enter_async_context(
                    visiting(browser, inhabited, language=language, theme=theme, window=window)
                )
                if signed_in:
                    await visit.enter()
                opened[form, signed_in] = visit
            return opened[form, signed_in]

        yield open_once


@asynccontextmanager
async def at(visit: Visit, place: Place) -> AsyncIterator[None]:
    """Be at a page, with what it shows. What is wrong in it fails this test and no other."""
    if place.refused:
        visit.watch.expect(422, place.refused)
    try:
        await visit.go(place.address(TALKING))
        await visit.settled()
        await visit.page.locator(place.ready).first.wait_for(state="attached")
        yield
        visit.watch.check()
    finally:
        visit.watch.problems.clear()


@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(map(str, form[:2])))
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
async def test_a_page(visits: OpenOnce, place: Place, form: Form) -> None:
    language, theme, _ = form
    visit = await visits(form, place.signed_in)
    async with at(visit, place):
        page = visit.page
        wide = await page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, "the page scrolls sideways"
        assert (await page.evaluate("() => document.documentElement.lang"))[:2] == language
        words = await page.locator("main h1, nav, main button").all_inner_texts()
        chinese = any("\u4e00" <= letter <= "\u9fff" for letter in "".join(words))
        assert chinese is (language == "zh")
        ground = await page.evaluate(GROUND)
        red = int(ground.removeprefix("rgb(").split(",")[0])
        assert (red < 128) is (theme == "dark")
        assert await page.title() != "Vixio"
        await check_accessibility(page)
        if language == "zh" and place.name != "components":
            assert await latin_words(page) == {}
        if place.name in NAMES_DEVICES:
            shown = await shown_text(page)
            assert [each for each in (TALKING, SLEEPING) if each in shown] == []
            assert "api:" not in shown


async def test_language_and_theme_are_chosen_and_kept(
    inhabited: ConsoleHouse, open_visit: OpenVisit
) -> None:
    visit = await open_visit(inhabited)
    await visit.enter()
    await visit.page.get_by_label("Language", exact=True).select_option("zh")
    await visit.page.get_by_role("heading", name="设备").wait_for()
    await visit.page.get_by_label("外观", exact=True).select_option("dark")
    await visit.page.reload()
    await visit.page.get_by_role("heading", name="设备").wait_for()
    assert await visit.page.evaluate("() => document.documentElement.dataset.theme") == "dark"

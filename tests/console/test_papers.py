"""Documents in the browser: given, asked for, erased; in both languages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.console.axe import check_accessibility
from tests.console.conftest import OpenVisit
from tests.console.house import ConsoleHouse
from tests.support.paper_files import pdf, site

if TYPE_CHECKING:
    from playwright.async_api import Locator, Page

pytestmark = pytest.mark.slow

WORDS = {
    "en": {
        "add": "Add",
        "added": "can be searched.",
        "question": "Question",
        "search": "Search",
        "place": "boiler.pdf, page 2",
        "nothing": "Nothing is found.",
        "address": "Address of a web page",
        "fetch": "Fetch",
        "private": "is not on the public internet",
        "unread": "no PDF that can be read",
        "erase": "Erase {}",
        "act": "Erase",
        "none": "There are no documents yet.",
    },
    "zh": {
        "add": "添加",
        "added": "可以搜索了。",
        "question": "问题",
        "search": "搜索",
        "place": "boiler.pdf，第 2 页",
        "nothing": "没有找到。",
        "address": "网页地址",
        "fetch": "获取",
        "private": "该地址不在公共互联网上",
        "unread": "不是可以读取的 PDF",
        "erase": "删除 {}",
        "act": "删除",
        "none": "还没有文件。",
    },
}


def button(within: Page | Locator, name: str) -> Locator:
    """Return a button by the whole of its name."""
    return within.get_by_role("button", name=name, exact=True)


@pytest.mark.parametrize("language", list(WORDS))
async def test_documents_are_given_asked_for_and_erased(
    language: str, house: ConsoleHouse, open_visit: OpenVisit, tmp_path: Path
) -> None:
    from playwright.async_api import expect

    words = WORDS[language]
    visit = await open_visit(house, language=language)
    await visit.enter("#/memory/papers")
    page = visit.page
    await page.get_by_text(words["none"]).wait_for()
    manual = {
        "name": "boiler.pdf",
        "mimeType": "application/pdf",
        "buffer": pdf(["Cover", "To reset the boiler, press the red button."]),
    }
    chooser = page.locator("input[type=file]")
    await chooser.set_input_files(manual)
    await button(page, words["add"]).click()
    await page.get_by_text(f"boiler.pdf {words['added']}").wait_for()
    kept = page.locator("li", has_text="boiler.pdf")
    await expect(kept).to_have_count(1)

    question = page.get_by_label(words["question"], exact=True)
    await question.fill("how do I reset it")
    await button(page, words["search"]).click()
    await page.get_by_text(words["place"], exact=True).wait_for()
    await page.get_by_text("press the red button").wait_for()
    await question.fill("carburettor")
    await button(page, words["search"]).click()
    await page.get_by_text(words["nothing"]).wait_for()

    visit.watch.expect(422, r"/api/v1/papers")
    await chooser.set_input_files({**manual, "name": "broken.pdf", "buffer": b"nothing"})
    await button(page, words["add"]).click()
    await page.get_by_text(words["unread"]).wait_for()
    with site() as address:
        visit.watch.expect(422, r"/api/v1/papers/pages")
        await page.get_by_label(words["address"]).fill(f"{address}/guide/stove")
        await button(page, words["fetch"]).click()
        await page.get_by_text(words["private"]).wait_for()
    await check_accessibility(page)
    await page.screenshot(path=tmp_path / f"papers-{language}.png", full_page=True)

    await button(page, words["erase"].format("boiler.pdf")).click()
    await button(page.get_by_role("dialog"), words["act"]).click()
    await kept.wait_for(state="detached")
    await page.get_by_text(words["none"]).wait_for()

"""Tools that are pasted on the page Assistant: mistakes at their line, tried, saved, removed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.console.axe import check_accessibility
from tests.console.fresh_house import FreshHouse, begin, fresh

if TYPE_CHECKING:
    from tests.console.conftest import OpenVisit

SHOPPING = Path(__file__).parents[2] / "examples" / "mcp_tools.py"
KEY = "sk-0123456789abcdef0123"
TRIAL_MS = 120_000


def paste() -> str:
    server = {"command": sys.executable, "args": [str(SHOPPING)], "env": {"API_KEY": KEY}}
    return json.dumps({"mcpServers": {"shop": server}}, indent=2)


async def test_a_paste_is_mended_tried_saved_and_removed(
    tmp_path: Path, open_visit: OpenVisit
) -> None:
    house = FreshHouse(tmp_path)
    file = tmp_path / "vixio.yaml"
    file.write_text(file.read_text("utf-8").replace("api: {", "api: {programs: true, "), "utf-8")
    async with house.serving():
        visit = await open_visit(house)
        visit.watch.expect(422, r"/tools/try$")
        page = await begin(visit, "#/assistant")
        card = page.locator("[data-part=paste]")
        box = card.get_by_label("JSON or address")
        await card.get_by_text("Nothing was added yet.").wait_for()
        await box.fill(paste().replace('"args"', '"arg"'))
        await card.get_by_role("button", name="Try").click()
        await card.get_by_text('there is no "arg": did you mean "args"?').wait_for()
        await card.get_by_role("button", name="Line 5, column 7").click()
        assert await page.evaluate("document.activeElement.selectionStart") == paste().index(
            '"args"'
        )
        await page.screenshot(path=tmp_path / "mistake.png", full_page=True)
        await check_accessibility(page)

        await box.fill(paste())
        await card.get_by_role("button", name="Try").click()
        await card.get_by_text("works", exact=True).wait_for(timeout=TRIAL_MS)
        results = card.locator("table")
        assert "add_to_shopping_list" in await results.inner_text()
        assert "read_shopping_list" in await results.locator("td").nth(1).inner_text()
        await page.screenshot(path=tmp_path / "tried.png", full_page=True)
        await check_accessibility(page)
        await card.get_by_role("button", name="Save").click()
        await page.get_by_text("Saved. Running conversations have the tools at once.").wait_for()
        row = card.locator("[data-added=shop]")
        await row.get_by_text("connected", exact=True).wait_for(timeout=TRIAL_MS)
        await row.get_by_text("2 tools").wait_for()
        assert await box.input_value() == ""
        assert KEY not in await page.content()
        await page.screenshot(path=tmp_path / "saved.png", full_page=True)
        await row.get_by_role("button", name="Remove shop").click()
        await page.get_by_role("dialog").get_by_role("button", name="Remove").click()
        await card.get_by_text("Nothing was added yet.").wait_for()


async def test_without_the_setting_a_program_is_refused_in_chinese(
    tmp_path: Path, open_visit: OpenVisit
) -> None:
    async with fresh(tmp_path) as house:
        visit = await open_visit(house, language="zh")
        visit.watch.expect(422, r"/tools/try$")
        page = await begin(visit, "#/assistant")
        card = page.locator("[data-part=paste]")
        await card.get_by_text("这里只能添加互联网上的服务器").wait_for()
        await card.get_by_label("JSON 或地址").fill(paste())
        await card.get_by_role("button", name="测试").click()
        await card.get_by_text("shop 会在服务器上启动程序").wait_for()
        await card.get_by_role("button", name="第 3 行，第 13 列").wait_for()
        await page.screenshot(path=tmp_path / "refused.png", full_page=True)

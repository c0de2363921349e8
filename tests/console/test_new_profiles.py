"""New profiles: from templates and files; and the bar that saves, which covers no field."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.console.axe import check_accessibility
from tests.console.house import ConsoleHouse
from tests.console.test_profiles import enter, field, make, stored, write
from tests.console.visit import PHONE
from vixio.web.console.assets import read_assets

if TYPE_CHECKING:
    import aiohttp
    from playwright.async_api import FilePayload, Route

    from tests.console.conftest import OpenVisit

MISTAKEN = b'{"place": "Ulm", "colour": "red"}'

SECRET = "sk-planted-in-a-profile"

QUESTIONS = {
    "en": "what time is it",
    "zh": "现在几点",
    "de": "wie spät ist es",
    "fr": "quelle heure est-il",
    "es": "qué hora es",
    "ja": "今何時ですか",
}
"""By the languages of the templates."""

COVERED = """() => {
  const found = [];
  const bar = document.querySelector(".save-bar");
  for (const each of document.querySelectorAll("details")) each.open = true;
  for (const each of document.querySelectorAll("main input, main select, main textarea")) {
    if (bar.contains(each) || !each.checkVisibility() || each.type === "radio") continue;
    const top = bar.getBoundingClientRect().top;
    scrollBy(0, each.getBoundingClientRect().top - top - 4);
    each.focus();
    const box = each.getBoundingClientRect();
    if (Math.min(box.bottom, box.top + 40) > top) found.push(each.dataset.path);
  }
  return found;
}"""
"""Returns the fields that are behind the bar when they have the focus."""


def templates() -> list[dict[str, Any]]:
    """Return the templates as the console has them."""
    files = read_assets().files
    found: list[dict[str, Any]] = json.loads(files["pages/profiles/templates.json"].content)
    return found


async def answer(http: aiohttp.ClientSession, method: str, path: str, body: object) -> Any:  # noqa: ANN401 - JSON
    async with http.request(method, f"/api/v1{path}", json=body) as response:
        assert response.status < 300, await response.text()
        return await response.json()


async def test_every_template_is_a_profile_that_answers(shared_house: ConsoleHouse) -> None:
    assert [each["name"] for each in templates()] == [
        "storyteller",
        "teacher",
        "translator",
        "child",
    ]
    async with shared_house.api() as http:
        for each in templates():
            assert set(each["title"]) == set(each["about"]) == {"en", "zh"}
            assert set(each["texts"]) == set(QUESTIONS)
            tools = {}
            for language, texts in each["texts"].items():
                content = {**texts, **each["content"]}
                checked = await answer(http, "POST", "/profiles/check", {"content": content})
                assert checked["errors"] == []
                body = {"content": content, "language": language}
                trial = (await answer(http, "POST", "/trials", body))["trial"]
                question = {"text": QUESTIONS[language]}
                said = await answer(http, "POST", f"/trials/{trial}", question)
                assert said["text"]
                tools[language] = [tool["name"] for tool in said["tools"]]
                async with http.delete(f"/api/v1/trials/{trial}") as response:
                    assert response.status == 204
            known = [] if each["name"] == "translator" else ["get_time"]
            assert tools == dict.fromkeys(QUESTIONS, known), each["name"]


async def test_a_profile_begins_with_a_template(house: ConsoleHouse, open_visit: OpenVisit) -> None:
    visit = await open_visit(house, language="zh", window=PHONE)
    await enter(visit)
    page = visit.page
    await page.get_by_role("button", name="新建角色").first.click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("radio", name="儿童伙伴").check()
    assert await dialog.get_by_label("名称", exact=True).input_value() == "儿童伙伴"
    await check_accessibility(page)
    await dialog.get_by_role("button", name="新建").click()
    await page.get_by_role("heading", level=1, name="儿童伙伴").wait_for()
    await field(page, "instructions").wait_for()
    async with house.api() as http:
        content = await stored(http, "儿童伙伴")
    assert content["daily_turns"] == 80
    assert "set_timer" in content["tools"]["allow"]
    assert content["instructions"].startswith("You are a cheerful companion"), (
        "in the language of the assistant, whatever that of the page"
    )


async def test_a_name_is_free_before_the_list_is_there(
    house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    from playwright.async_api import expect

    visit = await open_visit(house)
    held, go = list[str](), asyncio.Event()

    async def hold_first(route: Route) -> None:
        if not held:
            held.append(route.request.url)
            await go.wait()
        await route.continue_()

    async with house.api() as http:
        await write(http, "Robot", {"place": "Ulm"})
    await visit.page.route("**/api/v1/profiles", hold_first)
    await enter(visit)
    page = visit.page
    await page.get_by_role("button", name="New profile").first.click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("radio", name="A file").check()
    named: FilePayload = {"name": "Robot.json", "mimeType": "application/json", "buffer": b"{}"}
    await dialog.get_by_label("File with a profile").set_input_files(named)
    await expect(dialog.get_by_label("Name", exact=True)).to_have_value("Robot 2")
    assert held
    go.set()
    await dialog.get_by_role("button", name="Cancel").click()
    await page.get_by_role("link", name="Robot").wait_for()


async def test_a_profile_is_shared_as_a_file(
    house: ConsoleHouse, open_visit: OpenVisit, tmp_path: Path
) -> None:
    from playwright.async_api import expect

    visit = await open_visit(house, accept_downloads=True)
    agent = {"name": "openai", "model": "small", "api_key": SECRET, "base_url": "http://x.test/v1"}
    content = {"place": "Ulm", "agent": agent}
    async with house.api() as http:
        await write(http, "Shared", content)
        await enter(visit)
        page = visit.page
        await page.get_by_role("link", name="Shared").click()
        async with page.expect_download() as download:
            await page.get_by_role("button", name="Save as a file").click()
        file = tmp_path / "Shared.json"
        await (await download.value).save_as(file)
        assert SECRET not in file.read_text("utf-8")
        del agent["api_key"]
        assert json.loads(file.read_text("utf-8")) == content

        await page.get_by_role("link", name="Profiles", exact=True).first.click()
        await page.get_by_role("button", name="New profile").first.click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_role("radio", name="A file").check()
        await dialog.get_by_role("button", name="Create").click()
        assert await dialog.get_by_label("Name", exact=True).evaluate("e => !e.validity.valid")
        chooser = dialog.get_by_label("File with a profile")
        wrong: FilePayload = {
            "name": "x.json",
            "mimeType": "application/json",
            "buffer": b"no profile",
        }
        await chooser.set_input_files(wrong)
        await dialog.get_by_text("This is not JSON.").wait_for()
        mistaken: FilePayload = {**wrong, "name": "Odd one.json", "buffer": MISTAKEN}
        await chooser.set_input_files(mistaken)
        await dialog.get_by_text("1 mistake for this server").wait_for()
        await chooser.set_input_files(file)
        await dialog.get_by_text("1 mistake for this server").wait_for(state="detached")
        await expect(dialog.get_by_label("Name", exact=True)).to_have_value("Shared 2")
        await dialog.get_by_role("button", name="Create").click()
        await page.get_by_role("heading", level=1, name="Shared 2").wait_for()
        assert await stored(http, "Shared 2") == content

        await page.get_by_role("link", name="Profiles", exact=True).first.click()
        await page.get_by_role("button", name="New profile").first.click()
        await dialog.get_by_role("radio", name="A file").check()
        await chooser.set_input_files(mistaken)
        await dialog.get_by_text("1 mistake for this server").wait_for()
        await dialog.get_by_role("button", name="Create").click()
        await page.locator(".save-bar .mistakes li", has_text="colour").wait_for()
        assert await field(page, "place").input_value() == "Ulm"
        assert await stored(http, "Odd one") == {}


async def test_the_bar_is_in_sight_and_covers_no_field(
    house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    visit = await open_visit(house, window=PHONE)
    page = await make(visit, "Small")
    save = page.locator(".save-bar").get_by_role("button", name="Save")
    assert await page.locator(".long-form > summary").is_visible()
    assert await page.locator(".long-form [data-path]").first.is_hidden()
    box = await save.bounding_box()
    assert box is not None
    nav = await page.locator(".side nav").bounding_box()
    assert nav is not None
    assert box["y"] + box["height"] <= nav["y"]
    await field(page, "language").fill("klingon!")
    await page.locator(".save-bar .mistakes li").wait_for()
    assert await page.evaluate(COVERED) == []

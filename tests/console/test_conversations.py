"""The conversations of all devices: found by words and filters, and the week in figures."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.console.axe import check_accessibility
from tests.console.conftest import OpenVisit
from tests.console.house import ConsoleHouse
from tests.console.visit import PHONE, Language
from vixio.core.wall_clock import now_ms
from vixio.data.conversations.records import TurnRecord
from vixio.data.conversations.repository import ConversationRepository
from vixio.data.database.create import make_database

if TYPE_CHECKING:
    from playwright.async_api import Locator, Page

pytestmark = pytest.mark.slow

KITCHEN = "02:00:00:00:00:11"
BATH = "02:00:00:00:00:12"
MINUTE_MS = 60_000

SLOW = {
    "voice_end": -500,
    "turn_end": 0,
    "transcript": 100,
    "first_token": 3_000,
    "first_sentence": 3_100,
    "first_audio": 3_400,
    "first_frame": 3_500,
}
MODEL = {"model": "openai/m", "input_tokens": 1_200, "output_tokens": 40}


def said(device: str, turn: int, heard: str, **more: Any) -> TurnRecord:  # noqa: ANN401
    """Return a turn of a few minutes ago, the later the higher its number."""
    at = now_ms() - (60 - turn) * MINUTE_MS
    return TurnRecord(
        device, f"session-{device[-2:]}", turn, at, heard=heard, **{"outcome": "answered", **more}
    )


def turns() -> Sequence[TurnRecord]:
    """Return what was said with two devices, and in a typed conversation."""
    return [
        said(KITCHEN, 1, "what time is it", said="It is noon."),
        said(KITCHEN, 2, "打开客厅的灯", said="好的，灯开了。"),
        said(KITCHEN, 3, "", guess="turn it up", outcome="not_understood", said="Once more?"),
        said(BATH, 4, "tell me a story", stages=SLOW, models=[MODEL], profile="kids", said="Once."),
        said(BATH, 5, "what is the time", outcome="failed:agent", error="agent: no_key"),
        said("chat", 6, "is it time for tea (now)?", said="It is."),
    ]


async def record(house: ConsoleHouse, turns: Sequence[TurnRecord]) -> None:
    """Put turns on record, beside the server."""
    database = make_database(house.folder / "data", "")
    await database.open()
    await ConversationRepository(database).write(turns)
    await database.close()


async def furnish(house: ConsoleHouse) -> None:
    """Name two devices, one of them Anna's, and put turns on record."""
    async with house.api() as http:
        for device, name in ((KITCHEN, "Kitchen"), (BATH, "Bath")):
            body = {"id": device, "name": name}
            async with http.post("/api/v1/devices", json=body) as answer:
                assert answer.status == 201
        async with http.post("/api/v1/people", json={"name": "Anna"}) as answer:
            assert answer.status == 201
        async with http.put(f"/api/v1/devices/{KITCHEN}/person", json={"person": "Anna"}) as answer:
            assert answer.status == 200
    await record(house, turns())


def chip(page: Page, outcome: str) -> Locator:
    """Return what chooses an outcome."""
    return page.locator(".chip", has_text=re.compile(f"^{outcome}$", re.IGNORECASE))


async def test_turns_are_found_by_words(house: ConsoleHouse, open_visit: OpenVisit) -> None:
    from playwright.async_api import expect

    visit = await open_visit(house)
    page = visit.page
    found = page.locator(".found-turn")
    await visit.enter("#/conversations")
    await expect(page.get_by_text("No conversation is recorded yet.")).to_be_visible()
    await furnish(house)
    await page.reload()
    await expect(found).to_have_count(6)
    await expect(found.first).to_contain_text("is it time for tea")
    await expect(found.nth(3)).to_contain_text("heard perhaps: turn it up")

    words = page.get_by_label("Words that were said")
    await words.fill("TIME is")
    await expect(found).to_have_count(3)
    await expect(page).to_have_url(re.compile(r"#/conversations\?q=TIME\+is$"))
    await expect(words).to_be_focused()
    marks = found.last.locator("mark")
    assert await marks.all_inner_texts() == ["time", "is", "is"]
    await words.fill("(now)?")
    await expect(found).to_have_count(1)
    await expect(found.locator("mark")).to_have_text("(now)?")
    await words.fill("客厅")
    await expect(found).to_have_count(1)
    await expect(found.locator("mark")).to_have_text("客厅")
    await page.get_by_role("button", name="Clear filters").click()
    await expect(found).to_have_count(6)

    await words.fill("what is")
    await expect(found).to_have_count(2)
    await found.last.get_by_role("link", name="Kitchen").click()
    moment = page.locator("vx-turn.moment")
    await expect(moment).to_contain_text("what time is it")
    await expect(moment).to_be_in_viewport()
    await page.get_by_label("Search what was said").fill("灯")
    await page.get_by_role("button", name="Search").click()
    await expect(page).to_have_url(re.compile(r"#/conversations\?q=%E7%81%AF&device=02"))
    await expect(found).to_have_count(1)


async def test_turns_are_found_by_filters(
    house: ConsoleHouse, open_visit: OpenVisit, tmp_path: Path
) -> None:
    from playwright.async_api import expect

    await furnish(house)
    visit = await open_visit(house)
    page = visit.page
    found = page.locator(".found-turn")
    await visit.enter("#/conversations")
    await chip(page, "failed").click()
    await expect(found).to_have_count(1)
    await expect(found).to_contain_text("no_key")
    await chip(page, "all").click()
    await expect(found).to_have_count(6)
    await page.get_by_label("Device").select_option("Bath")
    await expect(found).to_have_count(2)
    await expect(page).to_have_url(re.compile(r"\?device=02%3A00%3A00%3A00%3A00%3A12$"))
    await page.get_by_label("Device").select_option("any")
    await page.get_by_label("Person").select_option("Anna")
    await expect(found).to_have_count(3)

    async with page.expect_download() as waiting:
        await page.get_by_role("button", name="Save as a file").click()
    download = await waiting.value
    assert download.suggested_filename == "conversations.json"
    await download.save_as(tmp_path / "found.json")
    saved = json.loads((tmp_path / "found.json").read_text("utf-8"))["turns"]
    assert [turn["turn"] for turn in saved] == [3, 2, 1]

    await page.go_back()  # to all of them
    await expect(found).to_have_count(6)
    await page.go_back()
    await expect(page.get_by_label("Device")).to_have_value(BATH)
    await expect(found).to_have_count(2)

    await page.get_by_label("Day", exact=True).fill("2020-02-02")
    await expect(page.get_by_text("No turn matches.")).to_be_visible()
    await visit.go("#/conversations?q=story&outcome=answered")  # a link from elsewhere
    await expect(found).to_have_count(1)
    await expect(page.get_by_label("Words that were said")).to_have_value("story")
    await expect(chip(page, "answered")).to_have_attribute("aria-pressed", "true")


async def test_a_long_list_comes_in_parts_and_follows(
    house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    from playwright.async_api import expect

    at = now_ms() - MINUTE_MS
    await record(
        house,
        [TurnRecord("chat", "s", turn, at + turn, heard=f"number {turn}") for turn in range(25)],
    )
    visit = await open_visit(house)
    page = visit.page
    found = page.locator(".found-turn")
    await visit.enter("#/conversations")
    await expect(found).to_have_count(20)
    await page.get_by_role("button", name="Older ones").click()
    await expect(found).to_have_count(25)
    await expect(page.get_by_role("button", name="Older ones")).to_have_count(0)
    await page.reload()
    await expect(found).to_have_count(20)
    async with house.member("Kitchen", device_id=KITCHEN, mode="manual") as device:
        await device.type_text("what time is it")
        await expect(found.first).to_contain_text("what time is it")


async def test_a_search_goes_on_where_the_server_has_stopped(
    house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    from playwright.async_api import Route, expect

    visit = await open_visit(house)
    page = visit.page
    asked: list[str] = []

    async def answer(route: Route) -> None:
        cursor = re.search(r"cursor=([^&]*)", route.request.url)
        asked.append(cursor[1] if cursor else "")
        more = None if len(asked) == 25 else f"{100 - len(asked)}/1/s"
        await route.fulfill(json={"turns": [], "cursor": more})

    await page.route("**/api/v1/turns?**", answer)
    await visit.enter("#/conversations?q=zebra")
    await page.get_by_role("button", name="Search further back").click()
    await expect(page.get_by_text("No turn matches.")).to_be_visible()
    assert len(asked) == 25
    assert asked[:2] == ["", "99%2F1%2Fs"]


async def test_a_part_that_fails_leaves_what_is_shown(
    house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    from playwright.async_api import expect

    at = now_ms() - MINUTE_MS
    await record(house, [TurnRecord("chat", "s", turn, at, heard="tea") for turn in range(25)])
    visit = await open_visit(house)
    page = visit.page
    await visit.enter("#/conversations")
    await expect(page.locator(".found-turn")).to_have_count(20)
    visit.watch.expect(503, r"/api/v1/turns")
    problem = {"title": "x", "status": 503, "detail": "the database cannot be reached"}
    await page.route("**/api/v1/turns?**", lambda route: route.fulfill(status=503, json=problem))
    more = page.get_by_role("button", name="Older ones")
    await more.click()
    await expect(page.locator(".toast.bad")).to_contain_text("cannot be reached")
    await expect(page.locator(".found-turn")).to_have_count(20)
    await page.unroute("**/api/v1/turns?**")
    await more.click()
    await expect(page.locator(".found-turn")).to_have_count(25)


async def test_the_week_in_figures(house: ConsoleHouse, open_visit: OpenVisit) -> None:
    from playwright.async_api import expect

    await furnish(house)
    visit = await open_visit(house)
    page = visit.page
    await visit.enter("#/conversations")
    card = page.get_by_role("region", name="The last seven days")
    await expect(card).to_contain_text("6 turns, of which 2 were not understood or failed.")
    values = card.locator("[role=slider]")
    await expect(values).to_have_count(3)
    wait = card.get_by_role("slider", name="Typical wait over time")
    await wait.focus()
    await wait.press("Home")
    await expect(wait).to_have_attribute("aria-valuetext", re.compile("^–, "))
    slow = card.locator(".slow-turns li")
    await expect(slow).to_have_count(1)
    await expect(slow).to_contain_text("Bath: thought 3.00 s of 4.00 s")
    await expect(slow).to_contain_text("tell me a story")
    tokens = card.locator("tbody tr")
    await expect(tokens).to_have_count(1)
    await expect(tokens).to_have_text("kids11,20040")
    await tokens.get_by_role("link", name="kids").click()
    await expect(page.locator(".found-turn")).to_have_count(1)
    await expect(page.get_by_label("Profile")).to_have_value("kids")
    await check_accessibility(page)


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_what_cannot_be_read_can_be_tried_again(
    house: ConsoleHouse, open_visit: OpenVisit, language: Language
) -> None:
    from playwright.async_api import Route, expect

    visit = await open_visit(house, language=language, window=PHONE)
    page = visit.page
    visit.watch.expect(503, r"/api/v1/(turns|statistics)")
    fails = True

    async def answer(route: Route) -> None:
        if fails:
            body = {"title": "x", "status": 503, "detail": "the database cannot be reached"}
            await route.fulfill(status=503, json=body)
        else:
            await route.continue_()

    await page.route(re.compile("/api/v1/(turns|statistics)"), answer)
    await visit.enter("#/conversations")
    notices = page.locator(".notice.bad")
    await expect(notices).to_have_count(2)
    fails = False
    for left in (1, 0):
        await notices.first.get_by_role("button").click()
        await expect(notices).to_have_count(left)
    await expect(page.locator(".empty")).to_be_visible()

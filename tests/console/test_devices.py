"""The devices: claimed, watched while they talk, asked to speak, their past kept and erased."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp
import pytest

from firmware_test_client import Tool
from tests.console.conftest import OpenVisit
from tests.console.house import ConsoleHouse

if TYPE_CHECKING:
    from playwright.async_api import Locator, Page

pytestmark = pytest.mark.slow

KITCHEN = "02:00:00:00:00:11"
ATTIC = "02:00:00:00:00:1a"


def row(page: Page, name: str) -> Locator:
    return page.locator(".device", has=page.get_by_role("link", name=name, exact=True))


async def add_rooms(http: aiohttp.ClientSession) -> None:
    """Add three devices that have not been here yet."""
    for each in range(1, 4):
        body = {"id": f"02:00:00:00:01:{each:02x}", "name": f"Room {each}"}
        async with http.post("/api/v1/devices", json=body) as answer:
            assert answer.status == 201


async def test_a_conversation_is_seen_as_it_happens(
    house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    from playwright.async_api import expect

    visit = await open_visit(house)
    async with house.member("Kitchen", device_id=KITCHEN, mode="manual") as device:
        await visit.enter("#/devices")
        page = visit.page
        await device.type_text("set the volume to thirty percent")
        await expect(row(page, "Kitchen").locator(".said")).to_have_text(
            "The volume is now 30 percent."
        )
        await page.get_by_role("link", name="Kitchen").click()
        turn = page.locator("vx-turn").last
        await expect(turn.locator(".bubble.user")).to_contain_text(
            "set the volume to thirty percent"
        )
        await expect(turn.locator(".stage-piece").first).to_be_visible()
        await expect(turn.locator(".stage-legend")).to_contain_text(re.compile(r"in all.*Spoke"))
        tool = turn.locator("details.tool")
        await expect(tool).to_contain_text("set_volume")
        await tool.locator("summary").click()
        await expect(tool.locator("dd").first).to_contain_text('"volume": 30')
        await expect(page.locator("output")).to_have_text("30")  # the slider follows

        # Cut in the middle: what was not heard is shown as such.
        answered = asyncio.create_task(device.type_text("what can you do"))
        await expect(page.locator("vx-turn .saying").last).to_be_visible()
        await page.get_by_role("button", name="Interrupt").click()
        await answered
        cut = page.locator("vx-turn").last
        await expect(cut.locator("del")).to_be_visible()
        await expect(cut.locator(".badge")).to_have_text("interrupted")
        await page.get_by_text("Raw events").click()
        await expect(page.locator(".raw")).to_contain_text("speech.interrupted")


async def test_what_was_not_understood_is_seen_with_what_may_have_been_heard(
    house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    from playwright.async_api import expect

    visit = await open_visit(house)
    async with house.member("Attic", device_id=ATTIC, mode="manual") as device:
        await visit.enter(f"#/device/{ATTIC.replace(':', '%3A')}")
        page = visit.page
        device.add_tool(Tool("self.lamp.turn_on", "Turn on the lamp", (), lambda: False))
        await expect(page.locator(".raw")).to_contain_text("self.lamp.turn_on")
        await device.press_to_talk("what's the weather tomorrow")
        await device.type_text("what is the capital of France")
        await device.type_text("turn on the lamp")
        for _ in range(2):  # as the events tell it, and as it is on record
            await expect(page.locator("vx-turn .stages")).to_have_count(3)
            declined, strange, lamp = await page.locator("vx-turn").all()
            await expect(declined.locator(".bubble.user")).to_contain_text(
                re.compile("not understood; heard perhaps: .+")
            )
            await expect(declined.locator(".turn-foot .badge")).to_have_count(0)
            await expect(strange.locator(".bubble.user")).to_contain_text("capital of France")
            await expect(strange.locator(".turn-foot .badge")).to_have_text("not understood")
            await expect(lamp.locator(".turn-foot .badge")).to_have_text("tool failed")
            await page.reload()


async def test_a_device_is_asked_to_speak_and_use_its_tools(
    house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    from playwright.async_api import expect

    visit = await open_visit(house)
    async with house.member("Kitchen", device_id=KITCHEN, mode="manual") as device:
        await visit.enter(f"#/device/{KITCHEN.replace(':', '%3A')}")
        page = visit.page
        await page.get_by_label("What to say").fill("Dinner is ready.")
        await page.get_by_role("button", name="Say", exact=True).click()
        await expect(page.locator("vx-turn").last).to_contain_text("Dinner is ready.")
        await expect(page.locator("vx-state")).to_have_text("Ready")
        await page.get_by_label("What to say").fill("what time is it")
        await page.get_by_role("button", name="Ask", exact=True).click()
        await expect(page.get_by_text(re.compile("The answer: It is "))).to_be_visible()

        await page.get_by_role("tab", name="Tools").click()
        tool = page.locator("details.tool-card", has_text="self.audio_speaker.set_volume")
        await tool.locator("summary").click()
        await tool.get_by_label("volume").fill("12")
        await tool.get_by_role("button", name="Call").click()
        await expect(tool.locator(".badge.good")).to_be_visible()
        assert device.volume == 12

        await page.get_by_role("button", name="See the screen").click()
        picture = page.get_by_role("img", name="The screen of Kitchen")
        await expect(picture).to_be_visible()
        assert await picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0


async def test_what_cannot_work_while_a_device_sleeps_is_off(
    house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    from playwright.async_api import expect

    visit = await open_visit(house)
    page = visit.page
    async with house.member("Kitchen", device_id=KITCHEN, mode="manual") as device:
        await visit.enter(f"#/device/{KITCHEN.replace(':', '%3A')}")
        for name in ("Say", "Ask", "Interrupt", "Disconnect", "See the screen"):
            await expect(page.get_by_role("button", name=name, exact=True)).to_be_enabled()
        await expect(page.get_by_role("button", name="Say it when it wakes")).to_be_hidden()
        await device.type_text("what time is it")
        await expect(page.locator("vx-turn .stages")).to_have_count(1)
    for name in ("Say", "Ask", "Interrupt", "Disconnect", "Restart", "See the screen"):
        await expect(page.get_by_role("button", name=name, exact=True)).to_be_disabled()
    await expect(page.get_by_label("Volume")).to_be_disabled()
    await expect(page.get_by_text("It is asleep and cannot be reached")).to_be_visible()
    here = page.locator(".nav-link[aria-current=page]")
    await expect(here).to_have_text("Devices")
    await page.get_by_role("tab", name="Tools").click()
    await expect(page.get_by_text("The tools it had last")).to_be_visible()
    await expect(page.locator("code", has_text="self.audio_speaker.set_volume")).to_be_visible()
    await expect(page.locator("details.tool-card")).to_have_count(0)

    await page.get_by_label("What to say").fill("Dinner is ready.")
    await page.get_by_role("button", name="Say it when it wakes").click()
    await expect(page.locator(".toast.good")).to_contain_text("when it next connects")
    await page.get_by_role("link", name="Devices").first.click()
    async with asyncio.timeout(60), house.api() as http:
        address = f"/api/v1/devices/{KITCHEN}"
        while not (await (await http.get(address)).json())["last"]:  # noqa: ASYNC110 - over HTTP
            await asyncio.sleep(0.1)  # until the turn is on record
    await page.reload()
    await expect(row(page, "Kitchen").locator(".heard")).to_have_text("what time is it")
    await expect(row(page, "Kitchen").locator(".said")).to_contain_text("It is ")
    async with house.member("Kitchen", device_id=KITCHEN, mode="manual") as device:
        said = await device.wait_for_reply(timeout=60)
        assert "Dinner is ready." in said.text


async def test_devices_are_renamed_and_forgotten_in_the_list(
    house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    from playwright.async_api import Route, expect

    async with house.api() as http:
        await add_rooms(http)
    visit = await open_visit(house)
    await visit.enter("#/devices")
    page = visit.page
    await row(page, "Room 2").get_by_role("button", name="Rename").click()
    dialog = page.get_by_role("dialog", name="What is Room 2 called?")
    await dialog.get_by_label("Name").fill("Attic")
    await dialog.get_by_role("button", name="Save").click()
    await expect(row(page, "Attic")).to_be_visible()

    async def refuse(route: Route) -> None:
        await route.fulfill(status=503, json={"detail": "busy, try again"})

    visit.watch.expect(503, r"/api/v1/announcements")
    await page.route("**/api/v1/announcements", refuse)
    await page.get_by_role("button", name="Announce").click()
    dialog = page.get_by_role("dialog", name="Announce on all devices")
    await dialog.get_by_label("What to say").fill("Dinner is ready.")
    await dialog.get_by_role("button", name="Announce").click()
    await expect(dialog.locator(".notice.bad")).to_contain_text("busy")  # where it was typed
    await expect(page.locator(".toast")).to_have_count(0)
    await dialog.get_by_role("button", name="Cancel").click()
    for name in ("Room 1", "Attic"):
        await page.get_by_label(f"Choose {name}").check()
    await page.get_by_role("button", name="Forget").click()
    dialog = page.get_by_role("dialog", name="Forget 2 devices?")
    await expect(dialog).to_contain_text("Attic")
    await dialog.get_by_role("button", name="Forget").click()
    await expect(page.locator(".device")).to_have_count(1)
    await expect(row(page, "Room 3")).to_be_visible()


async def test_the_past_is_saved_and_erased(
    house: ConsoleHouse, open_visit: OpenVisit, tmp_path: Path
) -> None:
    from playwright.async_api import expect

    visit = await open_visit(house)
    page = visit.page
    one = page.locator("details.conversation")
    async with house.member("Kitchen", device_id=KITCHEN, mode="manual") as device:
        await visit.enter(f"#/device/{KITCHEN.replace(':', '%3A')}/past")
        await expect(page.get_by_text("No conversation is recorded yet.")).to_be_visible()
        await device.type_text("what time is it")
        await expect(one).to_have_count(1)  # it follows
    await one.locator("summary").first.click()
    await expect(one.locator("vx-turn .bubble.assistant")).to_contain_text("It is ")

    async with page.expect_download() as waiting:
        await page.get_by_role("button", name="Save all as a file").click()
    download = await waiting.value
    assert download.suggested_filename == "Kitchen.json"
    await download.save_as(tmp_path / "kitchen.json")
    turns = json.loads((tmp_path / "kitchen.json").read_text("utf-8"))["turns"]
    assert [turn["heard"] for turn in turns] == ["what time is it"]

    await page.get_by_role("button", name="Erase all").click()
    dialog = page.get_by_role("dialog", name="Erase all that was said with Kitchen?")
    await dialog.get_by_role("button", name="Cancel").click()
    await expect(one).to_have_count(1)
    await page.get_by_role("button", name="Erase all").click()
    await dialog.get_by_role("button", name="Erase").click()
    await expect(dialog).to_be_hidden()
    await expect(page.get_by_text("No conversation is recorded yet.")).to_be_visible()


async def test_several_devices_get_a_profile_at_once(
    house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    from playwright.async_api import expect

    async with house.api() as http:
        await add_rooms(http)
        content = {"content": {"wake_reply": "At your service."}}
        async with http.put("/api/v1/profiles/butler", json=content) as answer:
            assert answer.status == 200
        visit = await open_visit(house)
        await visit.enter("#/devices")
        page = visit.page
        await expect(page.locator(".device")).to_have_count(3)
        await page.get_by_label("Search").fill("room 2")
        await expect(page.locator(".device")).to_have_count(1)
        await page.get_by_label("Search").fill("")
        for each in (1, 3):
            await page.get_by_label(f"Choose Room {each}").check()
        await page.get_by_role("button", name="Give a profile").click()
        dialog = page.get_by_role("dialog", name="A profile for 2 devices")
        await dialog.get_by_label("Profile").select_option("butler")
        await dialog.get_by_role("button", name="Save").click()
        await expect(page.locator(".device .badge", has_text="butler")).to_have_count(2)
        async with http.get("/api/v1/devices") as answer:
            given = {each["name"]: each["profile"] for each in (await answer.json())["devices"]}
    assert given == {"Room 1": "butler", "Room 2": None, "Room 3": "butler"}


async def test_a_change_that_could_not_be_read_is_read_again(
    house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    from playwright.async_api import Route, expect

    visit = await open_visit(house)
    asked: list[str] = []

    async def refuse_once(route: Route) -> None:
        asked.append(route.request.url)
        if len(asked) > 1:
            await route.continue_()
        else:
            await route.fulfill(status=503, json={"detail": "busy"})

    async with house.member("Kitchen", device_id=KITCHEN):
        await visit.enter("#/devices")
        page = visit.page
        await expect(row(page, "Kitchen")).to_be_visible()
        visit.watch.expect(503, "/devices/02")
        await page.route("**/api/v1/devices/02*", refuse_once)
        async with house.api() as http:
            path = f"/api/v1/devices/{KITCHEN}"
            async with http.patch(path, json={"name": "Balcony"}) as answer:
                assert answer.status == 200, await answer.text()
        await expect(row(page, "Balcony")).to_be_visible()
    assert len(asked) > 1


async def test_what_the_server_refuses_is_said_in_the_language_of_the_page(
    house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    visit = await open_visit(house, language="zh")
    visit.watch.expect(404, r"/devices/claim")
    await visit.enter("#/add")
    form = visit.page.locator(".add-code")
    await form.get_by_role("textbox").fill("123456")
    await form.locator("button[type=submit]").click()
    await visit.page.get_by_text("没有设备在等待验证码 123456").wait_for()

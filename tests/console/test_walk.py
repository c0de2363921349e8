"""The whole way of a newcomer, in one browser: from the first login to the last."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp
import pytest
import pytest_asyncio

from tests.console.house import ConsoleHouse
from tests.console.talking import RECORD_SOUND, VOLUME, TalkPage, write_speech
from tests.console.test_profiles import unfold
from tests.console.visit import Visit, launched, visiting
from tests.support.waiting import until

if TYPE_CHECKING:
    from playwright.async_api import Playwright

    from firmware_test_client import SimulatedDevice

pytestmark = pytest.mark.slow

TIME = "what time is it"

KITCHEN = "02:00:00:00:00:11"


@pytest_asyncio.fixture(loop_scope="session")
async def home(tmp_path: Path) -> AsyncIterator[ConsoleHouse]:
    """A server where every device has to be claimed."""
    new = ConsoleHouse(tmp_path, memory=True)
    async with new.serving():
        yield new


async def test_from_the_first_login_to_the_last(
    playwright: Playwright, home: ConsoleHouse, tmp_path: Path
) -> None:
    speech = await write_speech(tmp_path / "volume.wav", VOLUME, times=6)
    async with (
        launched(playwright, speech) as browser,
        visiting(browser, home, tap=False, accept_downloads=True) as visit,
    ):
        await visit.page.add_init_script(RECORD_SOUND)
        await visit.go()
        await visit.settled()
        await visit.sign_in()
        await visit.page.get_by_role("heading", name="Home").wait_for()
        await _talk(visit)
        device, starting = await home.visitor(home.device(device_id=KITCHEN, mode="manual"))
        await _claim(visit)
        await starting
        try:
            await _watch(visit, device)
            await _change_its_profile(visit, device)
            await _remind(visit, device)
        finally:
            await device.close()
        await _on_record(home, "feed the cat")
        await _keep_and_erase(visit, tmp_path)
        await _sign_out(visit, home)


async def _talk(visit: Visit) -> None:
    """Speak, be answered, and take a tool away."""
    talk = TalkPage(visit)
    talk.observe()
    await visit.page.get_by_role("link", name="Talk", exact=True).click()
    await talk.press("Start talking")
    await talk.until_heard(VOLUME, seconds=150)
    await talk.until_said("The volume is now 30 percent.")
    await talk.until_state("Listening")
    played = await talk.played()
    assert played.seconds > 0.5
    assert played.rms > 0.01
    await talk.press("Stop")
    await talk.type("turn on the lamp")
    await talk.until_lamp("on")
    await talk.until_listed(visit.page.get_by_label("Turn the lamp off").uncheck)
    calls = len(talk.calls())
    await talk.type("turn off the lamp")
    await talk.until_said("I did not understand that.")
    assert len(talk.calls()) == calls
    await talk.until_lamp("on")


async def _claim(visit: Visit) -> None:
    page = visit.page
    await page.get_by_role("link", name="Home").click()
    await page.get_by_role("link", name="Add it").click()
    await page.get_by_role("button", name="Add", exact=True).click()
    await page.get_by_text("It is connected").wait_for()
    await page.get_by_label("Name", exact=True).fill("Kitchen")
    await page.get_by_role("button", name="Save").click()
    await page.locator(".toast", has_text="Saved.").wait_for()
    await page.get_by_role("link", name="Devices", exact=True).click()


async def _watch(visit: Visit, device: SimulatedDevice) -> None:
    from playwright.async_api import expect

    await visit.page.get_by_role("link", name="Kitchen").click()
    await visit.page.get_by_text("Nobody has spoken yet.").wait_for()
    reply = await device.type_text(TIME)
    turn = visit.page.locator("vx-turn").last
    await expect(turn.locator(".bubble.user")).to_contain_text(TIME)
    await expect(turn.locator(".bubble.assistant")).to_contain_text(reply.text)


async def _change_its_profile(visit: Visit, device: SimulatedDevice) -> None:
    """Make a profile, hear its voice, give it to the device, and hear the difference."""
    page = visit.page
    await page.get_by_role("link", name="Profiles", exact=True).click()
    await page.get_by_role("button", name="New profile").first.click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("radio", name="An empty one").check()
    await dialog.get_by_label("Name", exact=True).fill("butler")
    await dialog.get_by_role("button").last.click()
    await unfold(page, "words")
    await page.locator('[data-path="wake_reply"]').fill("At your service.")
    await page.locator(".save-bar button.primary:enabled").click()
    await page.locator('.save-bar[data-dirty="false"]').wait_for()
    await page.get_by_role("link", name="Devices", exact=True).click()
    await page.get_by_label("Choose Kitchen").check()
    await page.get_by_role("button", name="Give a profile").click()
    await dialog.get_by_label("Profile").select_option("butler")
    await dialog.get_by_role("button", name="Save").click()
    await page.locator(".device .badge", has_text="butler").wait_for()
    await device.reconnect()
    await device.wake(audio=False)
    await device.wait_for_reply(after=len(device.replies) - 1)
    await until(
        lambda: any("At your service." in reply.text for reply in device.replies),
        what="the greeting of the profile",
        seconds=60,
    )


async def _remind(visit: Visit, device: SimulatedDevice) -> None:
    page = visit.page
    await page.get_by_role("link", name="Memory", exact=True).click()
    await page.get_by_role("button", name="New reminder").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Text").fill("feed the cat")
    await dialog.get_by_label("Device").select_option(KITCHEN)
    await dialog.get_by_label("When").select_option("now")
    await dialog.get_by_role("button", name="Save").click()
    await until(
        lambda: any("feed the cat" in reply.text and reply.ended for reply in device.replies),
        what="the reminder",
        seconds=60,
    )


async def _on_record(home: ConsoleHouse, words: str) -> None:
    """Wait for the record of the last turn, which is written behind: it would come after all was
    erased."""
    async with home.api() as http, asyncio.timeout(90):
        said = ""
        while words not in said:
            async with http.get(f"/api/v1/devices/{KITCHEN}/turns") as answer:
                said = await answer.text()


async def _keep_and_erase(visit: Visit, folder: Path) -> None:
    from playwright.async_api import expect

    page = visit.page
    await page.get_by_role("link", name="Devices", exact=True).click()
    await page.get_by_role("link", name="Kitchen").click()
    await page.get_by_role("tab", name="Earlier").click()
    await page.locator("details.conversation").first.wait_for()
    async with page.expect_download() as waiting:
        await page.get_by_role("button", name="Save all as a file").click()
    await (await waiting.value).save_as(folder / "kitchen.json")
    turns = json.loads((folder / "kitchen.json").read_text("utf-8"))["turns"]
    assert TIME in [turn["heard"] for turn in turns]
    await page.get_by_role("button", name="Erase all").click()
    await page.get_by_role("dialog").get_by_role("button", name="Erase").click()
    await expect(page.get_by_text("No conversation is recorded yet.")).to_be_visible()


async def _sign_out(visit: Visit, home: ConsoleHouse) -> None:
    page = visit.page
    kept = json.loads(await page.evaluate("localStorage.getItem('vixio.login')"))
    await page.get_by_role("button", name="Sign out").click()
    await page.locator("input[type=password]").wait_for()
    headers = {"Authorization": f"Bearer {kept['token']}"}
    url = f"http://127.0.0.1:{home.http_port}/api/v1/me"
    async with aiohttp.ClientSession() as http, http.get(url, headers=headers) as answer:
        assert answer.status == 401

"""What was said is kept as sound where a profile asks for it, and heard again at its turn."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest

from tests.console import sound
from tests.console.axe import check_accessibility
from tests.console.conftest import OpenVisit
from tests.console.house import ConsoleHouse
from tests.console.test_profiles import until_async

pytestmark = pytest.mark.slow

KITCHEN = "02:00:00:00:00:11"
BATH = "02:00:00:00:00:12"

STOP_AT_ONCE = """async () => {
  const button = [...document.querySelectorAll("vx-turn")].at(-1).querySelector(".play");
  const ready = () => new Promise((resolve) => {
    const see = () => {
      if (button.ariaBusy) return;
      observer.disconnect();
      resolve(button.ariaLabel);
    };
    const observer = new MutationObserver(see);
    observer.observe(button, { attributes: true });
    see();
  });
  const { pause } = HTMLMediaElement.prototype;
  const ended = new Promise((resolve) => {
    HTMLMediaElement.prototype.pause = function () {
      resolve(this.ended);
      HTMLMediaElement.prototype.pause = pause;
      return pause.call(this);
    };
  });
  button.click();
  const during = await ready();
  button.click();
  return [during, await ended ? "at its end" : "before its end", await ready()];
}"""
"""Plays and stops it within the page, and tells what the button says and when it ended: looked at
from outside, it may be over."""


async def test_what_was_said_is_heard_again(house: ConsoleHouse, open_visit: OpenVisit) -> None:
    from playwright.async_api import expect

    visit = await open_visit(house)
    page = visit.page
    async with (
        house.api() as http,
        house.member("Kitchen", device_id=KITCHEN, mode="manual") as device,
    ):
        await visit.enter(f"#/device/{KITCHEN.replace(':', '%3A')}")
        await expect(page.locator("h1")).to_have_text("Kitchen")
        await expect(page.locator(".recording")).to_be_hidden()
        await device.press_to_talk("what time is it")
        turn = page.locator("vx-turn").last
        await expect(turn.locator(".bubble.user")).to_contain_text("what time is it")
        await expect(turn.locator(".stages")).to_be_visible()
        await expect(page.locator(".play")).to_have_count(0)

        body = {"content": {"keep_sound_days": 7}}
        async with http.put("/api/v1/profiles/heard", json=body) as answer:
            assert answer.status < 300, await answer.text()
        path = f"/api/v1/devices/{KITCHEN}/profile"
        async with http.put(path, json={"profile": "heard"}) as answer:
            assert answer.status == 200
        await expect(page.locator(".recording")).to_have_text(
            "What is said to this device is recorded and kept for 7 days."
        )
        await expect(page.locator(".recording")).to_be_visible()
        await device.reconnect()
        await device.press_to_talk("what time is it")
        said = device.spoken[-1].utterance
        play = page.locator("vx-turn").last.get_by_role("button", name="Play what was said")
        half = (said.voice_end - said.voice_start) / 2

        async def audible() -> bool:
            return (await sound.played(page)).loud_seconds > half

        for _ in range(2):  # as the events tell it, and as it is on record
            await expect(play).to_have_count(1)
            await sound.played(page, forget=True)
            await play.click()
            await until_async(audible, what="what was said")
            await expect(play).to_be_visible()  # it has come to its end
            await page.reload()
        await expect(play).to_have_count(1)
        assert await page.evaluate(STOP_AT_ONCE) == ["Stop", "before its end", "Play what was said"]

        async with http.put("/api/v1/profiles/heard", json={"content": {}}) as answer:
            assert answer.status < 300
        await expect(page.locator(".recording")).to_be_hidden()
        await expect(play).to_have_count(1)
        visit.watch.expect(404, r"/turns/\d+/sound")
        await until_gone(http)
        await play.click()
        await expect(page.locator(".toast")).to_contain_text("there is no sound of this turn")
        await page.reload()
        await expect(page.locator("vx-turn")).not_to_have_count(0)
        await expect(page.locator(".play")).to_have_count(0)


async def test_one_sound_is_erased_alone(house: ConsoleHouse, open_visit: OpenVisit) -> None:
    from playwright.async_api import expect

    visit = await open_visit(house)
    page = visit.page
    async with (
        house.api() as http,
        house.member("Bath", device_id=BATH, mode="manual") as device,
    ):
        body = {"content": {"keep_sound_days": 7}}
        async with http.put("/api/v1/profiles/kept", json=body) as answer:
            assert answer.status < 300, await answer.text()
        path = f"/api/v1/devices/{BATH}/profile"
        async with http.put(path, json={"profile": "kept"}) as answer:
            assert answer.status == 200
        await device.reconnect()
        await visit.enter(f"#/device/{BATH.replace(':', '%3A')}")
        for _ in range(2):
            await device.press_to_talk("what time is it")
        turns = page.locator("vx-turn")
        play = page.get_by_role("button", name="Play what was said")
        await expect(play).to_have_count(2)
        first = turns.filter(has=play).first
        key = await first.get_attribute("data-key")
        await first.get_by_role("button", name="Erase the sound").click()
        dialog = page.get_by_role("dialog")
        await check_accessibility(page)
        await dialog.get_by_role("button", name="Cancel").click()
        await expect(play).to_have_count(2)
        await first.get_by_role("button", name="Erase the sound").click()
        await dialog.get_by_role("button", name="Erase", exact=True).click()
        for _ in range(2):  # as the page knows it, and as it is on record
            erased = page.locator(f'vx-turn[data-key="{key}"]')
            await expect(play).to_have_count(1)
            await expect(erased.locator(".sound")).to_have_count(0)
            await expect(erased.locator(".bubble.user")).to_contain_text("what time is it")
            await page.reload()
            await expect(turns).not_to_have_count(0)


async def until_gone(http: aiohttp.ClientSession) -> None:
    """Wait until no turn of the kitchen has a sound."""
    async with asyncio.timeout(60):
        while True:
            async with http.get(f"/api/v1/devices/{KITCHEN}/turns") as answer:
                if not any(each["sound_ms"] for each in (await answer.json())["turns"]):
                    return
            await asyncio.sleep(0.05)

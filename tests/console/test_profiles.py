"""Profiles in the console: made, checked while they are typed, heard, tried, saved and undone."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from tests.console.axe import check_accessibility
from tests.console.house import ConsoleHouse
from tests.console.sound import played
from tests.console.visit import PATIENCE_MS, Visit

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import aiohttp
    from playwright.async_api import Locator, Page

    from firmware_test_client import SimulatedDevice
    from tests.console.conftest import OpenVisit

GREETING = "At your service."

QUESTION = "what time is it"


async def until_async(condition: Callable[[], Awaitable[bool]], *, what: str) -> None:
    """Wait until the condition is true: it asks a page, a server or a device each time."""
    async with asyncio.timeout(60) as limit:
        while not await condition():
            assert not limit.expired(), what
            await asyncio.sleep(0.05)


async def tells_time(device: SimulatedDevice) -> bool:
    """Ask a device for the time; return whether its assistant may look at the clock."""
    return (await device.type_text(QUESTION)).text.startswith("It is ")


def field(page: Page, path: str) -> Locator:
    """Return the control of a value, such as ``tts.rate``."""
    return page.locator(f'[data-path="{path}"]')


def save(page: Page) -> Locator:
    return page.locator(".save-bar").get_by_role("button", name="Save")


async def saved(page: Page) -> None:
    """Save, and wait until it is."""
    await page.locator(".save-bar button.primary:enabled").click()
    await page.locator('.save-bar[data-dirty="false"]').wait_for()


async def enter(visit: Visit) -> None:
    """Sign in, and be at the list."""
    await visit.go("#/profiles")
    await visit.sign_in()
    await visit.page.locator(".page-profiles h1").wait_for()


async def make(visit: Visit, name: str, *, begin: str = "An empty one") -> Page:
    """Make a profile in the list, and be in its editor."""
    page = visit.page
    await enter(visit)
    await page.get_by_role("button", name="New profile").first.click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("radio", name=begin).check()
    await dialog.get_by_label("Name", exact=True).fill(name)
    await dialog.get_by_role("button", name="Create").click()
    await page.get_by_role("heading", level=1, name=name).wait_for()
    await field(page, "language").wait_for()
    return page


async def unfold(page: Page, part: str) -> None:
    """Show a part of the long form, which stands behind *More*."""
    await page.locator(".long-form > summary").click()
    await page.locator(f'.part-of-form[data-part="{part}"] > summary').click()


async def stored(http: aiohttp.ClientSession, name: str) -> dict[str, Any]:
    async with http.get(f"/api/v1/profiles/{name}") as answer:
        assert answer.status == 200, await answer.text()
        content: dict[str, Any] = (await answer.json())["content"]
        return content


async def test_a_profile_is_written_and_used(house: ConsoleHouse, open_visit: OpenVisit) -> None:
    visit = await open_visit(house)
    async with house.member("Kitchen") as device, house.api() as http:
        assert await tells_time(device)
        page = await make(visit, "Butler")
        await page.get_by_role("checkbox", name="Kitchen").check()

        await field(page, "language").fill("klingon!")
        await page.locator('[data-path="language"][aria-invalid="true"]').wait_for()
        error = page.locator(".field", has=field(page, "language")).locator(".field-error")
        assert "language tag" in await error.inner_text()
        assert await save(page).is_disabled()
        await page.locator(".save-bar .mistakes li", has_text="language tag").wait_for()
        await field(page, "language").fill("en")
        await unfold(page, "words")
        await field(page, "wake_reply").fill(GREETING)
        bar = page.locator(".save-bar")
        await bar.get_by_text("Language: general settings → en · Greeting: ").wait_for()
        await bar.get_by_text("Unsaved changes, for 1 device").wait_for()
        await bar.get_by_role("button", name="What will change").click()
        change = page.locator(".changes li", has_text="wake_reply")
        await change.locator("ins", has_text=GREETING).wait_for()
        await page.locator(".for-devices", has_text="Kitchen").wait_for()
        await check_accessibility(page)
        await bar.get_by_role("button", name="What will change").click()
        assert await error.inner_text() == ""
        await page.locator('.part-of-form[data-part="tools"] > summary').click()
        await field(page, "tools.deny").fill("get_time")
        await field(page, "tools.deny").press("Enter")
        await check_accessibility(page)
        await saved(page)
        written = {"language": "en", "wake_reply": GREETING, "tools": {"deny": ["get_time"]}}
        assert await stored(http, "Butler") == written

        async def follows() -> bool:
            return not await tells_time(device)

        await until_async(follows, what="the device to follow its profile")

        await page.locator(".save-bar").get_by_role("button", name="Undo").click()
        await page.get_by_text("Undone. It is as it was before.").wait_for()
        assert await stored(http, "Butler") == {}
        assert await field(page, "wake_reply").input_value() == ""

        async def returned() -> bool:
            return await tells_time(device)

        await until_async(returned, what="the device to follow the old profile")
        await page.locator("summary", has_text="History").click()
        first = page.locator(".versions > li").nth(1)
        await first.get_by_role("button", name="Restore this").click()
        await page.get_by_role("dialog").get_by_role("button", name="Restore").click()
        await until_async(lambda: is_stored(http, "Butler", written), what="the restored one")


async def is_stored(http: aiohttp.ClientSession, name: str, content: dict[str, Any]) -> bool:
    return await stored(http, name) == content


async def test_a_voice_is_heard_before_it_is_chosen(
    house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    visit = await open_visit(house)
    page = await make(visit, "Grandma")
    await page.get_by_label("Language of the voices").select_option("de")
    await page.get_by_label("What the samples say").fill("Guten Tag, was darf es sein?")
    await page.get_by_role("button", name="Listen to de").click()

    async def loud() -> bool:
        return (await played(page)).loud_seconds > 0.5

    await until_async(loud, what="the sample")
    nothing = page.locator(".save-bar").get_by_text("Nothing is changed.")
    assert await nothing.is_visible(), "to hear a voice changes nothing"
    inherited = page.get_by_role("radio", name="general settings")
    assert await inherited.is_checked()
    await page.get_by_role("radio", name="German").check()
    assert not await inherited.is_checked()
    await unfold(page, "tts")
    await field(page, "tts.rate").fill("900")
    await page.locator('[data-path="tts.rate"][aria-invalid="true"]').wait_for()
    await field(page, "tts.rate").fill("140")
    await saved(page)
    async with house.api() as http:
        voice = (await stored(http, "Grandma"))["tts"]
        assert (voice["voice"], voice["rate"]) == ("de", 140)


async def test_a_profile_is_tried_before_it_is_saved(
    house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    visit = await open_visit(house)
    async with house.member("Kitchen") as device, house.api() as http:
        page = await make(visit, "Strict")
        card = page.get_by_role("region", name="Try it in writing")

        async def ask() -> Locator:
            before = await card.locator("vx-turn").count()
            await card.get_by_label("What you would say").fill("what time is it")
            await card.get_by_role("button", name="Ask").click()
            turn = card.locator("vx-turn:not(.running)").nth(before)
            await turn.wait_for()
            return turn

        assert "get_time" in await (await ask()).inner_text()
        await unfold(page, "tools")
        await field(page, "tools.deny").fill("get_time")
        await field(page, "tools.deny").press("Enter")
        denied = await (await ask()).inner_text()
        assert "get_time" not in denied
        assert "not understood" in denied
        assert await card.get_by_text("a new conversation begins").count() == 1

        await page.locator('.part-of-form[data-part="words"] > summary').click()
        await field(page, "wake_reply").fill(GREETING)
        await page.locator(".save-bar .what", has_text="Greeting").wait_for()
        voice = page.get_by_role("region", name="Try it by voice")
        await voice.get_by_role("button", name="Try on this device").click()
        banner = page.locator(".trial-banner")
        await banner.get_by_text("Kitchen is trying this profile").wait_for()

        async def strict() -> bool:
            return not await tells_time(device)

        await until_async(strict, what="the device to try the profile")
        await banner.get_by_role("button", name="End the trial").click()
        await banner.wait_for(state="hidden")
        assert await tried(http, device.config.device_id) is None
        await voice.get_by_role("button", name="Try on this device").click()
        await banner.wait_for()

        await page.get_by_role("link", name="Devices", exact=True).click()
        question = page.get_by_role("dialog")
        await question.get_by_role("button", name="Cancel").click()
        assert await field(page, "wake_reply").input_value() == GREETING
        await page.get_by_role("link", name="Devices", exact=True).click()
        await question.get_by_role("button", name="Leave without saving").click()
        await page.locator(".page-devices h1").wait_for()

        async def over() -> bool:
            return await tried(http, device.config.device_id) is None

        await until_async(over, what="the end of the trial")
        assert await stored(http, "Strict") == {}


async def tried(http: aiohttp.ClientSession, device: str) -> dict[str, Any] | None:
    """Return what a device tries out."""
    async with http.get(f"/api/v1/devices/{device}/trial") as answer:
        assert answer.status == 200, await answer.text()
        content: dict[str, Any] | None = (await answer.json())["content"]
        return content


async def test_form_and_json_edit_the_same(house: ConsoleHouse, open_visit: OpenVisit) -> None:
    visit = await open_visit(house)
    page = await make(visit, "Plain")
    await unfold(page, "words")
    await page.get_by_text("As JSON, for engineers").click()
    area = page.get_by_label("Content of the profile")
    await area.fill(json.dumps({"place": "Ulm", "tts": {"name": "espeak", "rate": 120}}))
    await page.locator('.part-of-form[data-part="tts"] > summary').click()
    assert await field(page, "place").input_value() == "Ulm"
    assert await field(page, "tts.rate").input_value() == "120"
    await field(page, "place").fill("Bath")
    assert json.loads(await area.input_value())["place"] == "Bath"
    await area.fill("{")
    await page.locator("textarea.json[aria-invalid]").wait_for()
    assert await save(page).is_disabled()
    await page.locator(".save-bar").get_by_role("button", name="Discard").click()
    await page.locator('.save-bar[data-state=""]').wait_for()
    assert await area.input_value() == "{}"


async def test_changes_of_others_take_no_edits_away(
    house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    visit = await open_visit(house)
    async with house.api() as http:
        page = await make(visit, "Shared")
        await unfold(page, "words")
        await field(page, "place").fill("Kitchen")
        await write(http, "Shared", {"place": "Bath"})
        await page.get_by_text("was changed elsewhere. Your changes").wait_for()
        assert await field(page, "place").input_value() == "Kitchen"
        await page.get_by_role("button", name="Reload, without my changes").click()
        assert await field(page, "place").input_value() == "Bath"
        await write(http, "Shared", {"place": "Hall"})
        await page.get_by_text("What you see is the new one").wait_for()
        assert await field(page, "place").input_value() == "Hall"


async def write(http: aiohttp.ClientSession, name: str, content: dict[str, Any]) -> None:
    async with http.put(f"/api/v1/profiles/{name}", json={"content": content}) as answer:
        assert answer.status == 200, await answer.text()


async def test_a_removed_profile_returns(house: ConsoleHouse, open_visit: OpenVisit) -> None:
    visit = await open_visit(house)
    async with house.member("Kitchen") as device, house.api() as http:
        await write(http, "Gone", {"language": "en", "place": "Ulm"})
        path = f"/api/v1/devices/{device.config.device_id}/profile"
        async with http.put(path, json={"profile": "Gone"}) as answer:
            assert answer.status == 200
        await enter(visit)
        page = visit.page
        row = page.locator(".profile", has_text="Gone")
        await row.get_by_text("1 device").wait_for()
        await check_accessibility(page)
        await row.get_by_role("button", name="Remove Gone").click()
        question = page.get_by_role("dialog")
        assert "Kitchen" in await question.inner_text()
        await question.get_by_role("button", name="Remove").click()
        await row.wait_for(state="detached")
        await page.get_by_role("button", name="Restore Gone").click()
        await row.wait_for(timeout=PATIENCE_MS)
        assert await stored(http, "Gone") == {"language": "en", "place": "Ulm"}

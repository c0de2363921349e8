"""The page Server: load, parts, log, settings, who may use it, and firmware."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import pytest_asyncio
import zxingcpp

from firmware_test_client import SimulatedDevice
from firmware_test_client.image import firmware_image
from tests.console.axe import check_accessibility
from tests.console.conftest import OpenVisit
from tests.console.house import ConsoleHouse
from tests.console.visit import Visit

if TYPE_CHECKING:
    from playwright.async_api import Locator, Page

DEVICE = "02:00:00:00:00:31"
BOARD = "esp-box-3"
PLANTED = "Zq7aPlantedSecretOfTheTest"
PRIVATE_WORDS = "grandmother"
SAID = f"what time is it at my {PRIVATE_WORDS}'s"
NEW_PASSWORD = "correct horse battery"

MORE = f"""\
mcp_servers: {{absent: {{command: no-such-program-anywhere, env: {{ANY: {PLANTED}}}}}}}
logging: {{words: true}}
"""

LATENCY = re.compile(r"^\d[\d.]* (ms|s)$")

PIXELS = """(image) => {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 600;
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0, 600, 600);
  return Array.from(context.getImageData(0, 0, 600, 600).data.filter((_, at) => at % 4 === 0));
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def furnished(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ConsoleHouse]:
    """A server with a secret in its settings, and a source of tools that does not work."""
    new = ConsoleHouse(tmp_path_factory.mktemp("furnished"), MORE)
    async with new.serving():
        yield new


def shown(page: Page, selector: str, words: str) -> Locator:
    """Return what fits the selector and has these words."""
    return page.locator(selector).filter(has_text=words).first


async def answers(page: Page, words: str) -> None:
    """Press the button of the dialog that is open."""
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("button", name=words, exact=True).click()
    await dialog.wait_for(state="detached")


async def test_the_overview_has_the_address_and_the_load(
    furnished: ConsoleHouse, open_visit: OpenVisit
) -> None:
    visit = await open_visit(furnished, permissions=["clipboard-read", "clipboard-write"])
    await visit.enter("#/server")
    page = visit.page
    await shown(page, "code.ota", furnished.ota_url).wait_for()
    await page.get_by_role("button", name="Copy").click()
    await shown(page, ".toast", "Copied").wait_for()
    assert await page.evaluate("() => navigator.clipboard.readText()") == furnished.ota_url
    code = page.locator("img.qr[src]")  # what has none cannot be decoded
    await code.evaluate("(image) => image.decode()")
    grey = np.array(await code.evaluate(PIXELS), np.uint8).reshape(600, 600)
    assert [each.text for each in zxingcpp.read_barcodes(grey)] == [furnished.ota_url]

    memory = page.get_by_role("slider", name="Memory")
    await page.wait_for_function(
        "(chart) => /^\\d/.test(chart.getAttribute('aria-valuetext'))",
        arg=await memory.element_handle(),
    )
    last = str(await memory.get_attribute("aria-valuetext"))
    assert re.match(r"[\d.,]+ MB, ", last)
    await memory.focus()
    await page.keyboard.press("Home")
    first = int(str(await memory.get_attribute("aria-valuenow")))
    assert first == 0
    await check_accessibility(page)


async def test_a_tab_that_is_hidden_asks_nothing(
    furnished: ConsoleHouse, open_visit: OpenVisit
) -> None:
    visit = await open_visit(furnished)
    page = visit.page
    await visit.enter("#/server/log")
    await page.locator(".log-lines li").first.wait_for()
    await page.clock.install()
    await page.reload()
    await page.locator(".log-lines li").first.wait_for()
    count = asked(visit)
    await page.clock.run_for(5_000)
    async with page.expect_response(lambda answer: "/server/log" in answer.url):
        await page.clock.run_for(5_000)
    assert asked(visit) > count
    await hide(page, hidden=True)
    count = asked(visit)
    await page.clock.run_for(60_000)
    assert asked(visit) == count
    async with page.expect_response(lambda answer: "/server/log" in answer.url):
        await hide(page, hidden=False)


def asked(visit: Visit) -> int:
    return sum("/server/log" in each for each in visit.watch.requests)


async def hide(page: Page, *, hidden: bool) -> None:
    """Have the page believe that its tab is hidden, as no headless browser does."""
    await page.evaluate(
        """(hidden) => {
          Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
          document.dispatchEvent(new Event("visibilitychange"));
        }""",
        hidden,
    )


async def test_every_part_is_tried(furnished: ConsoleHouse, open_visit: OpenVisit) -> None:
    visit = await open_visit(furnished)
    await visit.enter("#/server/parts")
    page = visit.page
    absent = page.locator(".part[data-source=absent]")
    await absent.get_by_text("no-such-program-anywhere").wait_for(timeout=60_000)
    await page.get_by_role("button", name="Try everything").click()
    rows = page.locator("tr[data-part]")
    await rows.first.wait_for(timeout=100_000)
    found = {
        str(await row.get_attribute("data-part")): (
            await row.get_attribute("data-ok"),
            await row.locator(".latency").inner_text(),
        )
        for row in await rows.all()
    }
    assert {"tts", "vad", "asr", "agent", "tools.builtin", "tools.absent", "database"} <= set(found)
    assert found.pop("tools.absent")[0] == "false"
    for part, (ok, latency) in found.items():
        assert ok == "true", part
        assert LATENCY.match(latency), part
    await shown(page, "tr[data-part='tools.absent'] .detail", "not installed").wait_for()

    # One alone replaces its own row; the others stay.
    handle = await page.locator("tr[data-part=tts]").element_handle()
    group = page.get_by_role("group", name="Try the parts")
    await group.get_by_role("button", name="Voice").click()
    await page.wait_for_function("(row) => !row.isConnected", arg=handle)
    await page.locator("tr[data-part=tts]").wait_for()
    assert len(await rows.all()) == len(found) + 1

    await page.locator("[data-source=builtin] summary").click()
    await page.locator("[data-source=builtin] dt").get_by_text("get_time").wait_for()
    await check_accessibility(page)


async def test_the_log_has_what_happens_and_no_words_of_users(
    furnished: ConsoleHouse, open_visit: OpenVisit
) -> None:
    visit = await open_visit(furnished)
    await visit.enter("#/server/log")
    page = visit.page
    await page.locator(".log-lines li").first.wait_for()
    async with furnished.member("Attic", device_id=DEVICE) as device:
        assert (await device.type_text(SAID)).text
        await shown(page, ".log-lines li", DEVICE).wait_for()
        await page.locator("p").get_by_text(re.compile(r"^[1-9]\d* lines? with users")).wait_for()
    everything = await page.locator("main").inner_text()
    assert PRIVATE_WORDS not in everything

    before = await page.locator(".log-lines li:visible").count()
    await page.get_by_label("Contains").fill(DEVICE)
    fitting = await page.locator(".log-lines li:visible").all_inner_texts()
    assert fitting
    assert len(fitting) < before
    assert all(DEVICE in each for each in fitting)
    await page.get_by_label("Contains").fill("")
    await page.get_by_label("Level").select_option("WARNING")
    await shown(page, ".log-lines li", "MCP server not connected").wait_for()
    assert await page.locator(".log-lines li[data-level=INFO]").count() == 0
    await check_accessibility(page)


async def test_the_settings_have_their_sources_and_no_secret(
    furnished: ConsoleHouse, open_visit: OpenVisit
) -> None:
    visit = await open_visit(furnished)
    await visit.enter("#/server/settings")
    page = visit.page
    await shown(page, "main code", str(furnished.folder / "vixio.yaml")).wait_for()
    await page.get_by_label("Search").fill("absent.env")
    row = page.locator("[data-path='mcp_servers.absent.env.ANY']")
    await row.wait_for()
    assert (await row.inner_text()).split() == ["mcp_servers.absent.env.ANY", "***", "file"]
    assert PLANTED not in await page.content()
    assert await page.locator(".setting:visible").count() == 1
    await page.get_by_label("Search").fill("server.max_connections")
    assert "default" in await page.locator(".setting:visible").inner_text()
    await page.get_by_label("Search").fill("")
    await page.get_by_label("Show").select_option("file")
    await page.locator("[data-path='server.http_port']").wait_for()
    assert await page.locator("[data-path='server.max_connections']:visible").count() == 0
    await check_accessibility(page)


async def test_a_token_is_made_shown_once_and_revoked(
    furnished: ConsoleHouse, open_visit: OpenVisit
) -> None:
    visit = await open_visit(furnished)
    await visit.enter("#/server/access")
    page = visit.page
    await page.get_by_role("button", name="Create a token").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("textbox", name="Name").fill("Door bell")
    await dialog.get_by_role("button", name="Create").click()
    await shown(page, ".dialog .notice.bad", "Choose what").wait_for()  # no scope: no token
    await dialog.get_by_role("checkbox", name="devices:read").check()
    await dialog.get_by_label("Valid for (days)").fill("7")
    await check_accessibility(page)
    await dialog.get_by_role("button", name="Create").click()
    await dialog.wait_for(state="detached")
    token = await page.locator("code.secret").inner_text()

    async def status(path: str) -> int:
        url = f"http://127.0.0.1:{furnished.http_port}/api/v1{path}"
        headers = {"Authorization": f"Bearer {token}"}
        answer = await visit.context.request.get(url, headers=headers)
        return int(answer.status)

    assert await status("/devices") == 200
    assert await status("/server/log") == 403
    await page.get_by_role("button", name="Done").click()
    assert token not in await page.content()
    entry = shown(page, "[data-token]", "Door bell")
    assert "devices:read" in await entry.inner_text()
    await entry.get_by_role("button", name="Revoke").click()
    await page.get_by_role("heading", name="Revoke the token Door bell?").wait_for()
    await answers(page, "Revoke")
    await page.get_by_text("1 token that is no longer valid").wait_for()
    assert await status("/devices") == 401
    await shown(page, ".audit-line", "revoked").wait_for()


async def test_the_login_of_another_browser_is_ended(
    house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    here, there = await open_visit(house), await open_visit(house, user_agent="Firefox/140 Windows")
    there.watch.expect(401, "/api/v1/")
    await there.enter("#/devices", by_form=True)
    await here.enter("#/server/access", by_form=True)
    page = here.page
    own = page.locator("[data-login]").filter(has_text="this browser")
    await own.wait_for()
    assert await own.get_by_role("button").count() == 0
    other = page.locator("[data-login]").filter(has_text="Firefox")
    await other.get_by_role("button", name="End").click()
    await page.get_by_role("heading", name="End the login of Firefox").wait_for()
    await answers(page, "End")
    await other.wait_for(state="detached")
    await there.page.locator("input[type=password]").wait_for()
    await own.wait_for()


async def test_the_password_is_changed(house: ConsoleHouse, open_visit: OpenVisit) -> None:
    here, there = await open_visit(house), await open_visit(house)
    there.watch.expect(401, "/api/v1/")
    here.watch.expect(403, "/api/v1/password$")
    old = await house.password()
    await there.enter("#/devices", by_form=True)
    await here.enter("#/server/access", by_form=True)
    page = here.page
    form = page.locator("form.password-form")
    old_field = form.get_by_label("Old password")
    send = form.get_by_role("button", name="Change the password")
    await old_field.fill("not the password")
    await form.get_by_label("New password", exact=True).fill(NEW_PASSWORD)
    await form.get_by_label("New password again").fill(NEW_PASSWORD + "!")
    await send.click()
    await form.get_by_text("The two passwords differ").wait_for()
    await form.get_by_label("New password again").fill(NEW_PASSWORD)
    await send.click()
    await form.get_by_text("the old password is wrong").wait_for()
    await old_field.fill(old)
    await send.click()
    await shown(page, ".toast", "The password is changed").wait_for()
    await there.page.locator("input[type=password]").wait_for()
    url = f"http://127.0.0.1:{house.http_port}/api/v1/login"
    for password, status in ((old, 401), (NEW_PASSWORD, 200)):
        answer = await here.context.request.post(url, data={"password": password})
        assert answer.status == status
    await page.locator("[data-login]").filter(has_text="this browser").wait_for()


async def test_firmware_is_uploaded_released_and_installed(
    house: ConsoleHouse, open_visit: OpenVisit, tmp_path: Path
) -> None:
    visit = await open_visit(house)
    visit.watch.expect(422, "/firmware/images")
    image = tmp_path / "xiaozhi.bin"
    image.write_bytes(firmware_image("9.1.0", board=BOARD, size=300_000))
    async with house.member("Attic", device_id=DEVICE, board=BOARD) as device:
        await visit.enter("#/server/firmware")
        page = visit.page
        await page.get_by_text("There is no firmware yet").wait_for()
        await page.get_by_label("Firmware file", exact=True).set_input_files(image)
        await page.get_by_label("Board").fill("another-board")
        await page.get_by_role("button", name="Upload").click()
        await shown(page, ".toast.bad", BOARD).wait_for()
        await page.get_by_label("Board").fill("")
        await page.get_by_role("button", name="Upload").click()
        entry = page.locator("[data-version='9.1.0']")
        await entry.get_by_text("not released").wait_for()

        await entry.get_by_role("button", name="Release").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_role("checkbox", name="Attic").check()
        await check_accessibility(page)
        await answers(page, "Release")
        await entry.get_by_text("released to 1 device").wait_for()
        await entry.get_by_role("button", name="Pause").click()
        await answers(page, "Pause")
        await entry.get_by_text("paused: 1 device").wait_for()
        await entry.get_by_role("button", name="Resume").click()
        await answers(page, "Resume")
        await entry.get_by_text("released to 1 device").wait_for()

        config = device.config
    async with asyncio.timeout(60):
        again = SimulatedDevice(replace(config))
        await again.boot()
        await again.close()
    assert again.boots[-1] == "9.1.0"
    await shown(page, "[data-attempt]", "installed").wait_for()
    await entry.get_by_text("installed: 1").wait_for()
    await check_accessibility(page)

    await entry.get_by_role("button", name="Remove").click()
    await page.get_by_role("heading", name=f"Remove 9.1.0 for {BOARD}?").wait_for()
    await answers(page, "Remove")
    await entry.wait_for(state="detached")

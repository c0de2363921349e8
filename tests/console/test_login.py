"""Signing in and out, and what a page is without a login."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.console.conftest import OpenVisit
from tests.console.house import NAME, ConsoleHouse
from tests.console.visit import SIGN_OUT, Visit


async def path(visit: Visit) -> str:
    """Return which page is shown."""
    place: str = await visit.page.evaluate("() => location.hash")
    return place


async def test_a_wrong_password_is_said_and_the_right_one_works(
    shared_house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    await shared_house.password()  # it is made behind the first answers
    visit = await open_visit(shared_house)
    visit.watch.expect(401, r"/api/v1/login$")
    await visit.go()
    await visit.page.wait_for_url("**#/login")
    await visit.page.get_by_text(f"{shared_house.folder}/data/api_password").wait_for()
    await visit.sign_in("not the password")
    field = visit.page.locator("input[type=password]")
    await visit.page.locator("input[type=password][aria-invalid=true]").wait_for()
    ids = str(await field.get_attribute("aria-describedby")).split()
    said = [await visit.page.locator(f"[id='{each}']").inner_text() for each in ids]
    assert "the password is wrong" in " ".join(said).lower()
    assert await path(visit) == "#/login"

    await visit.sign_in()
    await visit.page.wait_for_url("**#/home")
    await visit.page.get_by_role("heading", name="Home").wait_for()


async def test_a_link_of_the_command_signs_in_once(
    shared_house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    told = await shared_house.command("console", "--config", "vixio.yaml")
    link = told.strip().splitlines()[-1]
    assert link.startswith(f"http://127.0.0.1:{shared_house.http_port}/console/#/login?link=")
    visit = await open_visit(shared_house)
    await visit.page.goto(link)
    await visit.page.wait_for_url("**#/home")
    await visit.page.get_by_role("heading", name="Home").wait_for()
    await visit.page.go_back()
    assert "link=" not in visit.page.url, "it is not left in the history"

    other = await open_visit(shared_house)
    other.watch.expect(401, r"/api/v1/login/link$")
    await other.page.goto(link)
    await other.page.get_by_text("this link was used, or is over").wait_for()
    assert await path(other) == "#/login"
    await other.sign_in()
    await other.page.wait_for_url("**#/home")


async def test_a_link_leads_on_after_the_login(
    shared_house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    visit = await open_visit(shared_house)
    visit.watch.expect(404, r"/api/v1/devices/02%3A")
    await visit.go("#/device/02%3A00%3A00%3A00%3A00%3A77/past")
    await visit.page.wait_for_url(re.compile("#/login"))
    await visit.sign_in()
    await visit.page.wait_for_url(re.compile("#/device/02(%3A|:).*77/past$"))
    await visit.page.locator(".notice.bad").wait_for()


async def test_signing_out_ends_the_session_in_all_tabs(
    shared_house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    visit = await open_visit(shared_house)
    await visit.enter(by_form=True)
    token = await visit.page.evaluate("() => JSON.parse(localStorage['vixio.login']).token")
    other = await visit.another("#/devices")
    await other.get_by_role("heading", name="Devices").wait_for()

    await visit.page.get_by_role("button", name=SIGN_OUT["en"]).click()
    for page in (visit.page, other):
        await page.locator("input[type=password]").wait_for()
    assert await visit.page.evaluate("() => localStorage.getItem('vixio.login')") is None
    url = f"http://127.0.0.1:{shared_house.http_port}/api/v1/devices"
    answer = await visit.context.request.get(url, headers={"Authorization": f"Bearer {token}"})
    assert answer.status == 401


async def test_a_session_that_is_ended_elsewhere_leads_to_the_login(
    house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    visit = await open_visit(house)
    visit.watch.expect(401, "/api/v1/")
    await visit.enter()
    await house.command("api-password", "--config", "vixio.yaml")
    await visit.page.reload()
    await visit.page.locator("input[type=password]").wait_for()


@pytest.mark.parametrize("host", ["127.0.0.1", NAME])
async def test_it_works_over_plain_http(
    shared_house: ConsoleHouse, open_visit: OpenVisit, host: str
) -> None:
    visit = await open_visit(shared_house, host=host)
    await visit.enter(by_form=True)
    await visit.page.get_by_role("heading", name="Devices").wait_for()
    secure = await visit.page.evaluate("() => isSecureContext")
    assert secure is (host == "127.0.0.1"), "a name over plain HTTP has no microphone"


async def test_a_name_that_is_not_the_servers_gets_nothing(
    shared_house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    visit = await open_visit(shared_house)
    answer = await visit.context.request.get(
        shared_house.url(), headers={"Host": "evil.example"}, max_redirects=0
    )
    assert answer.status == 403
    assert "api.hosts" in await answer.text()


async def test_no_other_site_may_frame_it(
    shared_house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    visit = await open_visit(shared_house)
    answer = await visit.page.goto(shared_house.url())
    headers: dict[str, Any] = answer.headers if answer else {}
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-frame-options"] == "DENY"
    assert "unsafe" not in headers["content-security-policy"]
    cookies = await visit.context.cookies()
    assert cookies == [], "the login is a token in a header, which no other site can have sent"


async def test_the_keyboard_alone_is_enough(
    shared_house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    visit = await open_visit(shared_house)
    await visit.go()
    keys = visit.page.keyboard
    await visit.page.locator("input[type=password]:focus").wait_for()
    await keys.type(await shared_house.password())
    await keys.press("Enter")
    await visit.page.get_by_role("heading", name="Home").wait_for()
    await visit.page.reload()
    await visit.settled()
    await keys.press("Tab")
    assert await visit.page.evaluate("() => document.activeElement.className") == "skip"
    await keys.press("Enter")
    assert await visit.page.evaluate("() => document.activeElement.id") == "main"
    await visit.page.locator("nav").get_by_role("link", name="Devices").focus()
    await keys.press("Enter")
    await visit.page.get_by_role("heading", name="Devices").wait_for()
    await press_until(visit, "Announce")
    await keys.press("Enter")
    await visit.page.get_by_role("dialog").wait_for()
    assert await visit.page.evaluate("() => !!document.activeElement.closest('dialog')")
    await keys.press("Escape")
    await visit.page.get_by_role("dialog").wait_for(state="detached")
    words = await visit.page.evaluate("() => document.activeElement.textContent")
    assert words.strip() == "Announce", "the focus returns to where it was"


async def press_until(visit: Visit, words: str) -> None:
    """Press Tab until the button with these words has the focus, and is seen to have it."""
    for _ in range(40):
        await visit.page.keyboard.press("Tab")
        focused = "() => document.activeElement.textContent.trim()"
        if await visit.page.evaluate(focused) == words:
            style = "() => getComputedStyle(document.activeElement).outlineStyle"
            assert await visit.page.evaluate(style) != "none"
            return
    raise AssertionError(f"Tab does not lead to {words!r}")

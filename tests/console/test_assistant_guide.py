"""The guide that sets up a fresh server in the browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.console.axe import check_accessibility
from tests.console.fresh_house import (
    KEY_OF,
    SAVE,
    asked,
    begin,
    choose,
    error_of,
    fresh,
    go_on,
    nothing_can_be_installed,
    past_the_model,
    step,
    to_the_trial,
    tried,
)
from tests.console.stand_in import KEY, MODEL, StandIn, standing_in
from tests.console.visit import Language
from tests.support.servers import free_ports

if TYPE_CHECKING:
    from playwright.async_api import Route

    from tests.console.conftest import OpenVisit


async def test_enter_leads_from_nothing_to_an_assistant(
    tmp_path: Path, open_visit: OpenVisit
) -> None:
    async with fresh(tmp_path) as house:
        visit = await open_visit(house)
        await nothing_can_be_installed(visit)
        page = await begin(visit)
        await page.wait_for_url("**#/assistant/setup")
        await page.get_by_role("radio", name="English").wait_for()
        await check_accessibility(page)
        for name in ("asr", "agent", "tts", "tools", "check"):
            await page.keyboard.press("Enter")
            await step(page, name)
            await check_accessibility(page)
        await tried(page, "asr", "agent", "tts")
        await page.get_by_text(re.compile("An answer will begin about .* s after")).wait_for()
        await page.locator("button.primary:focus").wait_for()
        assert not house.stored.exists(), "nothing is saved before it is said so"
        await page.keyboard.press("Enter")
        await page.wait_for_url("**#/add")
        assert house.stored.stat().st_mode & 0o777 == 0o600
        assert (await asked(house, "what time is it")).startswith("It is ")
        await page.goto("about:blank")
        await visit.go()
        await page.wait_for_url("**#/home")
        await visit.settled()


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_guide_ends_at_an_answer_of_the_model(
    tmp_path: Path, open_visit: OpenVisit, language: Language
) -> None:
    answer = {"en": "The moon is far away.", "zh": "月亮很远。"}[language]
    async with (
        standing_in(StandIn(answer, language)) as service,
        fresh(tmp_path, openai=service.url) as house,
    ):
        visit = await open_visit(house, language=language)
        page = await begin(visit)
        await page.wait_for_url("**#/assistant/setup")
        await go_on(page, language)
        await step(page, "asr")
        await choose(page, "service" if language == "zh" else "commands")
        if language == "zh":
            await page.get_by_label(KEY_OF[language]).fill(KEY)
        await go_on(page, language)
        await step(page, "agent")
        await choose(page, "openai")
        if language == "en":
            await page.get_by_label(KEY_OF[language]).fill(KEY)
        await page.keyboard.press("Enter")
        await page.locator("select option", has_text="gpt-other").wait_for(state="attached")
        assert await page.locator(".service select").input_value() == MODEL
        await go_on(page, language)
        await step(page, "tts")
        await choose(page, "espeak")
        await go_on(page, language)
        await step(page, "tools")
        await go_on(page, language)
        await step(page, "check")
        await tried(page, "asr", "agent", "tts")
        await page.get_by_role("button", name=SAVE[language]).click()
        await page.wait_for_url("**#/add")
        assert KEY not in await page.evaluate("() => JSON.stringify({ ...localStorage })")
        assert await asked(house, "how far is the moon") == answer
        assert "how far is the moon" in json.dumps(service.chats[-1])
        assert service.refused == 0


async def test_a_wrong_key_and_an_unreachable_server_are_said_at_their_fields(
    tmp_path: Path, open_visit: OpenVisit
) -> None:
    async with standing_in(StandIn()) as service, fresh(tmp_path, openai=service.url) as house:
        visit = await open_visit(house)
        page = await begin(visit, "#/assistant/setup/agent")
        await choose(page, "openai")
        key = page.get_by_label("Key for OpenAI")
        await go_on(page)
        await page.get_by_text("A key is needed.").wait_for()
        await key.fill("sk-wrong")
        await key.press("Enter")
        await page.get_by_text("OpenAI refuses the key. Copy it once more").wait_for()
        assert await key.get_attribute("aria-invalid") == "true"
        assert await page.evaluate("() => document.activeElement.type") == "password"
        await check_accessibility(page)

        await choose(page, "url")
        address = page.get_by_label("Address", exact=True)
        await address.fill("stand-in")
        await go_on(page)
        await page.get_by_text("with http:// or https:// in front").wait_for()
        (port,) = free_ports(1)
        await address.fill(f"http://127.0.0.1:{port}/v1")
        await go_on(page)
        await page.get_by_text("cannot be reached").wait_for()
        assert "cannot be reached" in await error_of(page, "Address").inner_text()
        await address.fill(service.url)
        await page.get_by_label("Key", exact=True).fill(KEY)
        await go_on(page)
        await page.get_by_text("lists 2 models").wait_for()
        assert await page.locator(".field-error:not(:empty)").count() == 0
        await go_on(page)
        await step(page, "tts")
        # What was typed is there when one goes back.
        await page.go_back()
        await step(page, "agent")
        assert await page.get_by_label("Address", exact=True).input_value() == service.url
        assert await page.get_by_label("Key", exact=True).input_value() == KEY


async def test_a_closed_browser_loses_no_answer_and_is_offered_the_guide_again(
    tmp_path: Path, open_visit: OpenVisit
) -> None:
    async with standing_in(StandIn()) as service, fresh(tmp_path, openai=service.url) as house:
        visit = await open_visit(house)
        page = await begin(visit)
        await page.get_by_role("radio", name="Deutsch").check()
        await go_on(page)
        await step(page, "asr")
        await choose(page, "service")
        await page.get_by_label("Key for OpenAI").fill(KEY)
        await go_on(page)
        await step(page, "agent")
        await page.close()
        visit.page = page = await visit.context.new_page()
        await page.goto(house.url())
        await page.wait_for_url("**#/assistant/setup")
        assert await page.get_by_role("radio", name="Deutsch").is_checked()
        await go_on(page)
        await step(page, "asr")
        assert await page.locator(".pick[data-name=service] input[type=radio]").is_checked()
        kept = await page.evaluate("() => JSON.stringify({ ...localStorage })")
        assert KEY not in kept, "a key stays in the memory of the page"
        assert not house.stored.exists()
        await page.get_by_role("link", name="Devices", exact=True).click()
        await page.goto("about:blank")
        await visit.go("#/assistant")
        await page.get_by_text("Nothing is set up yet").wait_for()
        await page.locator("main a.primary").click()
        await page.locator("main form[data-step=language]").wait_for()


async def test_an_installation_goes_on_when_the_page_is_left(
    tmp_path: Path, open_visit: OpenVisit
) -> None:
    state: dict[str, Any] = {"state": "idle", "names": [], "seconds": 0, "line": "", "error": ""}
    begun: list[Any] = []

    async def installing(route: Route) -> None:  # nothing is really installed by a test
        if route.request.method == "POST":
            begun.append(route.request.post_data_json)
            names = begun[-1]["choices"]
            state.update(state="running", names=names, seconds=2, line="Downloading one.whl")
        await route.fulfill(status=202 if route.request.method == "POST" else 200, json=state)

    async with fresh(tmp_path) as house:
        visit = await open_visit(house)
        await visit.context.route("**/assistant/install", installing)
        page = await begin(visit, "#/assistant/setup/asr")
        await to_the_trial(page, ears="moonshine")
        await page.get_by_text("Installing what is needed: Anything you say: Moonshine").wait_for()
        await page.get_by_text("Downloading one.whl").wait_for()
        await page.get_by_role("link", name="Assistant", exact=True).click()
        await page.get_by_text("Installing what is needed").wait_for()
        await check_accessibility(page)
        await page.go_back()
        await step(page, "check")
        await page.get_by_text("Installing what is needed").wait_for()
        assert begun == [{"choices": ["asr.moonshine"]}]
        state.update(state="failed", error="there is no network; by itself: make extra")
        await page.get_by_text("there is no network").wait_for()
        await page.get_by_role(
            "button", name="Use instead: Anything you say: SenseVoice"
        ).wait_for()
        await page.get_by_role("button", name="Use instead: Commands only").click()
        await tried(page, "asr", "agent", "tts")


async def test_a_language_without_phrases_ends_at_an_assistant_that_says_so(
    tmp_path: Path, open_visit: OpenVisit
) -> None:
    async with (
        standing_in(StandIn(language="it")) as service,
        fresh(tmp_path, openai=service.url) as house,
    ):
        visit = await open_visit(house)
        page = await begin(visit)
        await page.get_by_role("radio", name="Italiano").check()
        await go_on(page)
        await step(page, "asr")
        await choose(page, "service")
        await page.get_by_label("Key for OpenAI").fill(KEY)
        await go_on(page)
        await step(page, "agent")
        await page.get_by_text("It has no phrases in your language").wait_for()
        await past_the_model(page)
        await tried(page, "asr", "tts")
        await page.locator("[data-part=agent] .badge.warn").wait_for()
        await page.locator("button.primary:focus").wait_for()
        await page.keyboard.press("Enter")
        await page.wait_for_url("**#/add")


async def test_what_does_not_start_after_its_trial_is_saved_only_all_the_same(
    tmp_path: Path, open_visit: OpenVisit
) -> None:
    async with standing_in(StandIn()) as service, fresh(tmp_path, openai=service.url) as house:
        house.fails = True
        visit = await open_visit(house)
        page = await begin(visit, "#/assistant/setup/asr")
        await choose(page, "service")
        await page.get_by_label("Key for OpenAI").fill(KEY)
        await to_the_trial(page, ears="service")
        await tried(page, "asr", "agent", "tts")
        service.key = "another one"
        visit.watch.expect(422, r"/assistant$")
        await page.get_by_role("button", name="Save and add a device").click()
        await page.get_by_text("Nothing is saved yet.").wait_for()
        await page.get_by_text("speech recognition: openai: the speech").wait_for()
        assert not house.stored.exists()
        await page.get_by_role("button", name="Save anyway").click()
        await page.wait_for_url("**#/add")
        assert house.stored.exists()


async def test_what_is_slow_is_said_with_what_is_faster(
    tmp_path: Path, open_visit: OpenVisit
) -> None:
    async def slowed(route: Route) -> None:
        found = await (await route.fetch()).json()
        slow = 4_000 if found["part"] == "asr" else 100
        await route.fulfill(json={**found, "ms": slow, "first_ms": slow})

    async with fresh(tmp_path) as house:
        visit = await open_visit(house)
        await visit.context.route("**/assistant/try", slowed)
        page = await begin(visit, "#/assistant/setup/asr")
        await to_the_trial(page, ears="commands")
        await page.get_by_text("An answer will begin about 4.7 s after").wait_for()
        await page.get_by_text("With Anything you say: Moonshine it would be").wait_for()
        await page.get_by_role("button", name="Use Anything you say: Moonshine instead").wait_for()
        await check_accessibility(page)

"""The guide that sets up a fresh server in the browser, and the page that changes it later."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.console.axe import check_accessibility
from tests.console.house import ConsoleHouse
from tests.console.sound import played
from tests.console.stand_in import KEY, MODEL, StandIn, standing_in
from tests.console.test_profiles import until_async
from tests.console.visit import Language, Visit
from tests.support import patient
from tests.support.servers import free_ports
from tests.unit.tools.mcp.servers import RunningServer

if TYPE_CHECKING:
    from playwright.async_api import Locator, Page, Route

    from tests.console.conftest import OpenVisit

MORE = f"timeouts: {json.dumps(patient.sections()['timeouts'])}\n"

NEXT = {"en": "Next", "zh": "下一步"}
KEY_OF = {"en": "Key for OpenAI", "zh": "OpenAI 的密钥"}
SAVE = {"en": "Save and add a device", "zh": "保存并添加设备"}


class FreshHouse(ConsoleHouse):
    """A server on which nothing is set up. ``openai``: what stands in for OpenAI's server."""

    more = MORE

    def __init__(self, folder: Path, more: str = "", *, openai: str = "") -> None:
        self._openai = openai
        super().__init__(folder, more)

    def environment(self) -> Mapping[str, str]:
        """Return variables without the keys of whoever runs the tests."""
        return {"OPENAI_API_KEY": "", "OPENAI_BASE_URL": self._openai}

    @property
    def stored(self) -> Path:
        return self.folder / "data" / "assistant.yaml"


@asynccontextmanager
async def fresh(folder: Path, more: str = "", *, openai: str = "") -> AsyncIterator[FreshHouse]:
    house = FreshHouse(folder, more, openai=openai)
    async with house.serving():
        yield house


async def begin(visit: Visit, place: str = "") -> Page:
    """Sign in on a server, and be where that leads to. Nobody runs Ollama here."""
    visit.watch.expect(422, r"/assistant/models$")
    await visit.enter(place)
    return visit.page


async def step(page: Page, name: str) -> None:
    """Wait until a question is shown."""
    await page.wait_for_url(f"**#/assistant/setup/{name}")
    await page.locator(f"main form[data-step={name}]").wait_for()


async def choose(page: Page, name: str) -> None:
    await page.locator(f'.pick[data-name="{name}"] input[type=radio]').check()


async def go_on(page: Page, language: Language = "en") -> None:
    await page.get_by_role("button", name=NEXT[language], exact=True).click()


async def nothing_can_be_installed(visit: Visit) -> None:
    """Have the server offer only what is here: nothing is installed by a test.

    It proposes what it would on a quick machine: on a busy one that is a voice from the network.
    """

    async def answer(route: Route) -> None:
        found = await (await route.fetch()).json()
        for each in [*found["ears"], *found["voices"]]:
            each["can_install"] = False
            each["remedy"] = "make extra"
        found["preferred"] = {"asr": found["ears"][0]["name"], "tts": found["voices"][0]["name"]}
        await route.fulfill(json=found)

    await visit.context.route("**/assistant/choices?*", answer)


async def tried(page: Page, *parts: str) -> None:
    """Wait until the trial says that these parts work."""
    for part in parts:
        await page.locator(f'[data-part="{part}"] .badge.good').wait_for(timeout=120_000)


def error_of(page: Page, label: str) -> Locator:
    return page.locator(".field", has=page.get_by_label(label, exact=True)).locator(".field-error")


async def asked(house: ConsoleHouse, words: str) -> str:
    """Return what a device is answered."""
    async with house.member("Kitchen", mode="manual") as device:
        return (await device.type_text(words)).text


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
        await choose(page, "moonshine")
        await go_on(page)
        await step(page, "agent")
        await go_on(page)
        await step(page, "tts")
        await choose(page, "espeak")
        await go_on(page)
        await step(page, "tools")
        await go_on(page)
        await step(page, "check")
        await page.get_by_text("Installing what is needed: Free speech: Moonshine").wait_for()
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
        await page.get_by_role("button", name="Take instead: Free speech: SenseVoice").wait_for()
        await page.get_by_role("button", name="Take instead: Commands only").click()
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
        await go_on(page)
        await step(page, "tts")
        await choose(page, "espeak")
        await go_on(page)
        await step(page, "tools")
        await go_on(page)
        await step(page, "check")
        await tried(page, "asr", "tts")
        await page.locator("[data-part=agent] .badge.warn").wait_for()
        await page.locator("button.primary:focus").wait_for()
        await page.keyboard.press("Enter")
        await page.wait_for_url("**#/add")


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
        await choose(page, "commands")
        await go_on(page)
        await step(page, "agent")
        await go_on(page)
        await step(page, "tts")
        await choose(page, "espeak")
        await go_on(page)
        await step(page, "tools")
        await go_on(page)
        await step(page, "check")
        await page.get_by_text("An answer will begin about 4.7 s after").wait_for()
        await page.get_by_text("With Free speech: Moonshine it would be").wait_for()
        await page.get_by_role("button", name="Take Free speech: Moonshine instead").wait_for()
        await check_accessibility(page)


async def test_another_language_is_said_where_a_part_does_not_know_it(
    tmp_path: Path, open_visit: OpenVisit
) -> None:
    async with fresh(tmp_path) as house:
        visit = await open_visit(house)
        page = await begin(visit, "#/assistant")
        await page.get_by_label("Language of the assistant").select_option("de")
        ears = page.locator("[data-part=asr]")
        await ears.get_by_text("It does not know this language").wait_for()
        assert await page.get_by_text("It does not know this language").count() == 1
        await page.locator(".save-bar").get_by_role("button", name="Discard").click()
        await ears.get_by_text("It does not know this language").wait_for(state="detached")


async def test_what_the_file_fixes_is_shown_with_its_place(
    tmp_path: Path, open_visit: OpenVisit
) -> None:
    more = "assistant: {language: de}\ntts: {name: espeak}\n"
    async with fresh(tmp_path, more) as house:
        lines = (tmp_path / "vixio.yaml").read_text("utf-8").splitlines()
        place = f"{tmp_path / 'vixio.yaml'}:{lines.index('tts: {name: espeak}') + 1}"
        visit = await open_visit(house)
        page = await begin(visit, "#/assistant")
        card = page.locator("[data-part=tts]")
        await card.get_by_text(place).wait_for()
        assert await card.get_by_role("button").count() == 0
        assert await page.locator("[data-part=agent]").get_by_role("button").count() > 0
        await check_accessibility(page)
        await page.get_by_role("link", name="Set up step by step").click()
        await page.get_by_text("The settings file says this").wait_for()
        await page.goto(house.url("#/assistant/setup/tts"))
        await page.locator("main .notice", has_text=place).wait_for()
        await go_on(page)
        await step(page, "tools")


async def test_a_change_is_tried_saved_and_undone(tmp_path: Path, open_visit: OpenVisit) -> None:
    async with standing_in(StandIn()) as service, fresh(tmp_path, openai=service.url) as house:
        visit = await open_visit(house)
        page = await begin(visit, "#/assistant")
        agent = page.locator("[data-part=agent]")
        await agent.get_by_role("button", name="Change").click()
        dialog = page.get_by_role("dialog")
        await choose(page, "openai")
        await dialog.get_by_label("Key for OpenAI").fill(KEY)
        await dialog.get_by_role("button", name="Take it").click()
        await dialog.locator("select").wait_for()
        await check_accessibility(page)
        await dialog.locator("select").select_option("gpt-other")
        await dialog.get_by_role("button", name="Take it").click()
        await dialog.wait_for(state="detached")
        await agent.get_by_role("button", name="Add one that stands in").click()
        await choose(page, "phrasebook")
        await dialog.get_by_role("button", name="Take it").click()
        await agent.get_by_text("stands in", exact=True).wait_for()
        bar = page.locator(".save-bar")
        await bar.get_by_text("Not saved: model.").wait_for()
        await page.get_by_role("button", name="Try all parts").click()
        await page.locator("aside .badge.good").nth(2).wait_for(timeout=120_000)
        assert service.chats[-1]["model"] == "gpt-other", "it is tried before it is saved"
        await check_accessibility(page)
        await bar.get_by_role("button", name="Save").click()
        await page.get_by_text("Saved. It is in force at the next turn.").wait_for()
        assert await asked(house, "hello") == service.answer
        assert KEY not in await page.content()

        # Another order, with the key that the server keeps.
        await agent.get_by_role("button", name="Use Phrase book earlier").click()
        await bar.get_by_role("button", name="Save").click()
        await bar.get_by_role("button", name="Undo the last change").wait_for()
        async with house.member("Bath", device_id="02:00:00:00:00:09") as device:
            assert (await device.type_text("what time is it")).text.startswith("It is ")
            await bar.get_by_role("button", name="Undo the last change").click()
            await page.get_by_text("Undone. It is as it was before.").wait_for()

            async def returned() -> bool:
                return (await device.type_text("what time is it")).text == service.answer

            await until_async(returned, what="the model that was there before")
        await page.locator("[data-part=agent] li").first.get_by_text("OpenAI").wait_for()


async def test_a_voice_is_heard_before_it_is_taken(tmp_path: Path, open_visit: OpenVisit) -> None:
    async with fresh(tmp_path) as house:
        visit = await open_visit(house)
        page = await begin(visit, "#/assistant")
        await page.locator("[data-part=tts]").get_by_role("button", name="Change").click()
        await page.get_by_role("button", name="Listen to eSpeak").click()

        async def loud() -> bool:
            return (await played(page)).loud_seconds > 0.5

        await until_async(loud, what="the voice")
        await page.locator(".pick[data-name=espeak]", has_text=re.compile("It took")).wait_for()
        await page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
        assert not house.stored.exists()


async def test_a_server_of_tools_is_added_and_a_tool_switched_off(
    tmp_path: Path, open_visit: OpenVisit
) -> None:
    tools = RunningServer("streamable_http")
    await tools.start()
    try:
        async with standing_in(StandIn()) as service, fresh(tmp_path, openai=service.url) as house:
            async with house.api() as http:
                agent = {"name": "openai", "model": MODEL, "api_key": KEY}
                body = {"content": {"agent": agent}}
                async with http.put("/api/v1/assistant", json=body) as answer:
                    assert answer.status == 200, await answer.text()
            visit = await open_visit(house)
            page = await begin(visit, "#/assistant")
            card = page.locator("[data-part=tools]")
            dialog = page.get_by_role("dialog")
            await card.get_by_role("button", name="MCP server").click()
            (port,) = free_ports(1)
            await dialog.get_by_label("Address of the server").fill(f"http://127.0.0.1:{port}/mcp")
            await dialog.get_by_role("button", name="Try and add").click()
            await dialog.get_by_text("It does not answer as an MCP server.").wait_for()
            await check_accessibility(page)
            await dialog.get_by_label("Address of the server").fill(tools.url)
            await dialog.get_by_role("button", name="Try and add").click()
            await dialog.wait_for(state="detached")
            await card.locator("summary").click()
            await card.get_by_role("checkbox", name="erase").uncheck()
            assert await page.evaluate("() => document.activeElement.type") == "checkbox"
            await check_accessibility(page)
            await page.locator(".save-bar").get_by_role("button", name="Save").click()
            await page.get_by_text("Saved. It is in force").wait_for()
            async with house.member("Kitchen") as device:

                async def offered() -> set[str]:
                    await device.type_text("hello")
                    return {each["function"]["name"] for each in service.chats[-1].get("tools", [])}

                async def echoes() -> bool:
                    return "echo" in await offered()

                await until_async(echoes, what="the tools of the server")
                assert "erase" not in await offered()
                await card.locator("label.check", has_text="127-0-0-1").locator("input").uncheck()
                await page.locator(".save-bar").get_by_role("button", name="Save").click()

                async def silent() -> bool:
                    return "echo" not in await offered()

                await until_async(silent, what="the end of the tools")
    finally:
        await tools.kill()


async def test_a_token_that_home_assistant_refuses_is_said_at_its_field(
    tmp_path: Path, open_visit: OpenVisit
) -> None:
    # The stand-in refuses whatever has not its key, as Home Assistant does.
    async with standing_in(StandIn()) as service, fresh(tmp_path) as house:
        visit = await open_visit(house)
        page = await begin(visit, "#/assistant/setup/tools")
        await page.get_by_role("button", name="Home Assistant").click()
        dialog = page.get_by_role("dialog")
        address = dialog.get_by_label("Address of Home Assistant")
        assert await address.input_value() == "http://homeassistant.local:8123"
        await address.fill(service.url.removesuffix("/v1"))
        await dialog.get_by_label("A long-lived access token").fill("wrong")
        await dialog.get_by_role("button", name="Try and add").click()
        await dialog.get_by_text("The server refuses the token.").wait_for()
        token = dialog.get_by_label("A long-lived access token")
        assert await token.get_attribute("aria-invalid") == "true"
        assert service.refused, "it was really asked"


async def test_where_it_cannot_be_changed_the_reason_is_said(
    tmp_path: Path, open_visit: OpenVisit
) -> None:
    async with fresh(tmp_path) as house:
        visit = await open_visit(house)

        async def refuse(route: Route) -> None:
            found = await (await route.fetch()).json()
            await route.fulfill(json={**found, "editable": False, "why_not": "there are nodes"})

        await visit.context.route(re.compile(r"/assistant$"), refuse)
        page = await begin(visit)
        await page.wait_for_url("**#/home")
        await visit.go("#/assistant")
        await page.get_by_text("there are nodes").wait_for()
        assert await page.locator(".assistant-page [data-part] button").count() == 0
        await visit.go("#/assistant/setup")
        await page.get_by_text("there are nodes").wait_for()

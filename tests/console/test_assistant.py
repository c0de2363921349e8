"""The page that changes what the assistant is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from tests.console.axe import check_accessibility
from tests.console.fresh_house import (
    asked,
    begin,
    choose,
    fresh,
    go_on,
    step,
)
from tests.console.sound import played
from tests.console.stand_in import KEY, MODEL, StandIn, standing_in
from tests.console.test_profiles import until_async
from tests.support.servers import free_ports
from tests.unit.tools.mcp.servers import RunningServer

if TYPE_CHECKING:
    from playwright.async_api import Route

    from tests.console.conftest import OpenVisit


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
        await page.get_by_text("This is in the settings file").wait_for()
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
        await dialog.get_by_role("button", name="Use it").click()
        await dialog.locator("select").wait_for()
        await check_accessibility(page)
        await dialog.locator("select").select_option("gpt-other")
        await dialog.get_by_role("button", name="Use it").click()
        await dialog.wait_for(state="detached")
        await agent.get_by_role("button", name="Add a stand-in").click()
        await choose(page, "phrasebook")
        await dialog.get_by_role("button", name="Use it").click()
        await agent.get_by_text("stand-in", exact=True).wait_for()
        bar = page.locator(".save-bar")
        await bar.get_by_text("Not saved: model.").wait_for()
        await page.get_by_role("button", name="Try all parts").click()
        await page.locator("aside .badge.good").nth(2).wait_for(timeout=120_000)
        assert service.chats[-1]["model"] == "gpt-other", "it is tried before it is saved"
        await check_accessibility(page)
        await bar.get_by_role("button", name="Save").click()
        await page.get_by_text("Saved. It applies from the next turn.").wait_for()
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


async def test_a_part_that_does_not_start_is_saved_only_all_the_same(
    tmp_path: Path, open_visit: OpenVisit
) -> None:
    async with standing_in(StandIn()) as service, fresh(tmp_path, openai=service.url) as house:
        visit = await open_visit(house)
        page = await begin(visit, "#/assistant")
        voice = page.locator("[data-part=tts]")
        await voice.get_by_role("button", name="Change").click()
        dialog = page.get_by_role("dialog")
        await choose(page, "service")
        await dialog.get_by_label("Key for OpenAI").fill(KEY)
        await dialog.get_by_role("button", name="Use it").click()
        await dialog.wait_for(state="detached")
        service.key = "another one"
        house.fails = True
        bar = page.locator(".save-bar")
        visit.watch.expect(422, r"/assistant$")
        await bar.get_by_role("button", name="Save", exact=True).click()
        await voice.get_by_text("refuses the api_key (401)").wait_for()
        await bar.get_by_text("voice: openai: the voice service").wait_for()
        await check_accessibility(page)
        assert not house.stored.exists()
        await bar.get_by_role("button", name="Save anyway").click()
        await page.get_by_text("Saved. It applies from the next turn.").wait_for()
        assert house.stored.exists()

        chinese = await open_visit(house, language="zh")
        await begin(chinese, "#/assistant")
        await chinese.page.get_by_role("button", name="测试所有部分").click()
        await (
            chinese.page.locator("aside").get_by_text("的语音合成服务拒绝了密钥（401）").wait_for()
        )


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


async def test_a_voice_is_heard_whose_key_only_the_server_has(
    tmp_path: Path, open_visit: OpenVisit
) -> None:
    async with (
        standing_in(StandIn()) as service,
        fresh(tmp_path, openai=service.url, key=KEY) as house,
    ):
        visit = await open_visit(house)
        page = await begin(visit, "#/assistant")
        await page.locator("[data-part=tts]").get_by_role("button", name="Change").click()
        await choose(page, "service")
        dialog = page.get_by_role("dialog")
        assert await dialog.get_by_label("Key for OpenAI").input_value() == ""
        await dialog.get_by_role("button", name="Listen", exact=True).click()

        async def loud() -> bool:
            return (await played(page)).loud_seconds > 0.5

        await until_async(loud, what="the voice")


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
            await page.get_by_text("Saved. It applies").wait_for()
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
        # What is pasted is no setting: it is stored for a profile.
        settings = page.locator(".assistant-page [data-part]:not([data-part=paste])")
        assert await settings.count() > 3
        assert await settings.locator("button").count() == 0
        await visit.go("#/assistant/setup")
        await page.get_by_text("there are nodes").wait_for()

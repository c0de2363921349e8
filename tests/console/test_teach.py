"""What was heard wrongly is corrected from the console, and then understood by ear."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from firmware_test_client import SimulatedDevice, Tool
from tests.console.conftest import OpenVisit
from tests.console.house import ConsoleHouse

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.async_api import Page

pytestmark = pytest.mark.slow

KITCHEN = "02:00:00:00:00:11"
PAGE = f"#/device/{KITCHEN.replace(':', '%3A')}"
OWN = "bed time for the bulb"
MEANT = "turn off the lamp"


def with_lamp(device: SimulatedDevice) -> list[str]:
    """Give a device a lamp; return the list of when it was switched off."""
    done: list[str] = []

    def turn_off() -> bool:
        done.append("off")
        return True

    device.add_tool(Tool("self.lamp.turn_off", "Turn off the lamp", (), turn_off))
    return done


async def corrections(house: ConsoleHouse, path: str) -> Any:  # noqa: ANN401 - JSON
    async with house.api() as http, http.get(f"/api/v1{path}") as answer:
        content = (await answer.json())["content"]
    return content.get("assistant", content).get("corrections")


async def say_and_teach(page: Page, device: SimulatedDevice, scope: str) -> None:
    """Say what is not known yet, and correct it in the dialog of its turn."""
    from playwright.async_api import expect

    reply = await device.press_to_talk(OWN)
    assert reply.stt is None
    turn = page.locator("vx-turn").last
    await expect(turn.locator(".bubble.user")).to_contain_text("not understood")
    await turn.get_by_role("button", name="Heard wrongly?").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text(scope)
    said = dialog.get_by_label("What was said")
    await expect(said).to_have_value("")  # what may have been heard is a command of its own
    await said.fill(OWN)
    await dialog.get_by_label("that means").fill(MEANT)
    await dialog.get_by_role("button", name="Remember").click()
    await expect(page.locator(".toast")).to_contain_text("from the next turn")
    await expect(dialog).to_have_count(0)


async def understood(device: SimulatedDevice, done: list[str]) -> None:
    """Say it until it is understood: the recogniser has to prepare."""
    heard: list[str | None] = []
    while MEANT not in heard and len(heard) < 5:
        heard.append((await device.press_to_talk(OWN)).stt)
    assert (heard[-1], done) == (MEANT, ["off"])


async def test_a_household_teaches_a_phrase(house: ConsoleHouse, open_visit: OpenVisit) -> None:
    visit = await open_visit(house)
    async with house.member("Kitchen", device_id=KITCHEN, mode="manual") as device:
        done = with_lamp(device)
        await visit.enter(PAGE)
        await say_and_teach(visit.page, device, "all devices without a profile of their own")
        assert await corrections(house, "/assistant") == {OWN: MEANT}
        await understood(device, done)


async def test_a_profile_is_taught_and_keeps_what_holds_for_all(
    tmp_path: Path, open_visit: OpenVisit
) -> None:
    house = ConsoleHouse(tmp_path)
    file = tmp_path / "vixio.yaml"
    own = '"corrections": {"weak see oh": "Vixio"}'
    text = file.read_text("utf-8").replace("assistant: {", f"assistant: {{{own}, ")
    file.write_text(text, "utf-8")
    async with house.serving():
        visit = await open_visit(house)
        async with house.member("Kitchen", device_id=KITCHEN, mode="manual") as device:
            await visit.enter(PAGE)
            await device.type_text("what time is it")
            await visit.page.get_by_role("button", name="Heard wrongly?").last.click()
            dialog = visit.page.get_by_role("dialog")
            await dialog.wait_for()
            assert "vixio.yaml:" in await dialog.inner_text()  # the file decides for all
            await dialog.get_by_role("button", name="Close").click()

            async with house.api() as http:
                async with http.put("/api/v1/profiles/kids", json={"content": {}}) as answer:
                    assert answer.status == 200
                path = f"/api/v1/devices/{KITCHEN}/profile"
                async with http.put(path, json={"profile": "kids"}) as answer:
                    assert answer.status == 200
            done = with_lamp(device)
            await say_and_teach(visit.page, device, "the profile kids")
            both = {"weak see oh": "Vixio", OWN: MEANT}
            assert await corrections(house, "/profiles/kids") == both
            await understood(device, done)

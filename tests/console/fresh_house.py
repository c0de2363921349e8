"""A server on which nothing is set up, and the ways through its guide."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.console.house import ConsoleHouse
from tests.console.visit import Language, Visit
from tests.support import patient

if TYPE_CHECKING:
    from playwright.async_api import Locator, Page, Route


MORE = f"timeouts: {json.dumps(patient.sections()['timeouts'])}\n"

NEXT = {"en": "Next", "zh": "下一步"}
KEY_OF = {"en": "Key for OpenAI", "zh": "OpenAI 的密钥"}
SAVE = {"en": "Save and add a device", "zh": "保存并添加设备"}


class FreshHouse(ConsoleHouse):
    """A server on which nothing is set up.

    ``openai``: what stands in for OpenAI's server; ``key``: what the server has as its key.
    """

    more = MORE

    def __init__(self, folder: Path, more: str = "", *, openai: str = "", key: str = "") -> None:
        self._openai = openai
        self._key = key
        super().__init__(folder, more)

    def environment(self) -> Mapping[str, str]:
        """Return variables without the keys of whoever runs the tests."""
        return {"OPENAI_API_KEY": self._key, "OPENAI_BASE_URL": self._openai}

    @property
    def stored(self) -> Path:
        return self.folder / "data" / "assistant.yaml"


@asynccontextmanager
async def fresh(
    folder: Path, more: str = "", *, openai: str = "", key: str = ""
) -> AsyncIterator[FreshHouse]:
    house = FreshHouse(folder, more, openai=openai, key=key)
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


async def to_the_trial(page: Page, ears: str) -> None:
    """Choose these ears, the proposed model and eSpeak, and go on to the last step."""
    await choose(page, ears)
    await go_on(page)
    await step(page, "agent")
    await past_the_model(page)


async def past_the_model(page: Page) -> None:
    """Take the proposed model, choose eSpeak, and go on to the last step."""
    await go_on(page)
    await step(page, "tts")
    await choose(page, "espeak")
    await go_on(page)
    await step(page, "tools")
    await go_on(page)
    await step(page, "check")

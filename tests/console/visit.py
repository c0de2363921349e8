"""A visit of the console: one browser with its storage, its pages, and what a person does there."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from tests.console.house import NAME, ConsoleHouse
from tests.console.sound import TAP
from tests.console.watch import Watch

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from playwright.async_api import Browser, BrowserContext, Page, Playwright

Language = Literal["en", "zh"]
Theme = Literal["light", "dark"]

DESKTOP: Final = (1280, 800)
PHONE: Final = (390, 800)
"""Width and height of a window, in pixels of style sheets."""

PATIENCE_MS: Final = 30_000
"""For whatever a page is to show: the machine may be busy."""

LOCALES: Final = {"en": "en-GB", "zh": "zh-CN"}

SIGN_IN: Final = {"en": "Sign in", "zh": "登录"}
SIGN_OUT: Final = {"en": "Sign out", "zh": "退出登录"}

FLAGS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--autoplay-policy=no-user-gesture-required",
    f"--host-resolver-rules=MAP {NAME} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


@asynccontextmanager
async def launched(
    playwright: Playwright, microphone: Path | None = None, *, allow: bool = True
) -> AsyncIterator[Browser]:
    """Run Chromium. ``microphone``: a WAV that it hears once, from when a page first listens.

    Without one there is no microphone at all. ``allow`` false: a page's question for it stays open.
    """
    flags = list(FLAGS)
    if microphone is not None:
        flags += [
            "--use-fake-device-for-media-stream",
            f"--use-file-for-fake-audio-capture={microphone}%noloop",
        ]
        if allow:
            flags.append("--use-fake-ui-for-media-stream")
    browser = await playwright.chromium.launch(executable_path="/usr/bin/chromium", args=flags)
    try:
        yield browser
    finally:
        await browser.close()


@dataclass
class Visit:
    """A browser of its own for a server. ``page``: the first of its pages."""

    house: ConsoleHouse
    context: BrowserContext
    page: Page
    watch: Watch
    language: Language
    host: str = "127.0.0.1"

    async def go(self, place: str = "") -> None:
        """Open a page by its address, such as ``#/devices``, from nothing.

        Where the console is shown already it is loaded anew, since another text behind # loads
        nothing, and a blank page between them costs a new process of the browser.
        """
        url = self.house.url(place, self.host)
        if self.page.url.startswith(self.house.url("", self.host)):
            await self.page.evaluate("(url) => history.replaceState(null, '', url)", url)
            await self.page.reload()
        else:
            await self.page.goto(url)

    async def sign_in(self, password: str | None = None) -> None:
        """Fill in the login, which has to be on the page. None: the right password."""
        secret = await self.house.password() if password is None else password
        await self.page.locator("input[type=password]").fill(secret)
        await self.page.locator("form button[type=submit]").click()

    async def enter(
        self,
        place: str = "#/devices",
        *,
        by_form: bool = False,
        login: dict[str, Any] | None = None,
    ) -> None:
        """Be at a page, signed in. ``by_form``: with a session of its own, which may be ended.

        Otherwise it is ``login``, or one for all browsers of the house: logins are limited.
        """
        await self.go("#/login")
        await self.settled()
        if by_form:
            await self.sign_in()
            await self.page.locator("input[type=password]").wait_for(state="detached")
        else:
            kept = json.dumps(login or await self.house.login())
            await self.page.evaluate("(kept) => localStorage.setItem('vixio.login', kept)", kept)
        await self.go(place)
        await self.settled()

    async def settled(self) -> None:
        """Wait until the page has a heading and nothing of it is being loaded.

        Not for an idle network: to Chromium the script of the shared worker never ends.
        """
        await self.page.locator("main h1").first.wait_for()
        await self.page.locator("main .loading").first.wait_for(state="detached")

    async def another(self, place: str = "") -> Page:
        """Open one more tab."""
        page = await self.context.new_page()
        await page.goto(self.house.url(place, self.host))
        return page


@asynccontextmanager
async def visiting(
    browser: Browser,
    house: ConsoleHouse,
    *,
    language: Language = "en",
    theme: Theme = "light",
    window: tuple[int, int] = DESKTOP,
    host: str = "127.0.0.1",
    tap: bool = True,
    **options: Any,  # noqa: ANN401 - of playwright
) -> AsyncIterator[Visit]:
    """Open a browser with an empty page; what was wrong in it fails at the end.

    ``host``: by which the server is called. ``tap``: record what pages play. ``options``: further
    ones of playwright's ``new_context``.
    """
    width, height = window
    async with AsyncExitStack() as stack:
        context = await browser.new_context(
            **{
                "locale": LOCALES[language],
                "color_scheme": theme,
                "timezone_id": "Europe/Berlin",
                "reduced_motion": "reduce",
                "viewport": {"width": width, "height": height},
                **options,
            }
        )
        stack.push_async_callback(context.close)
        context.set_default_timeout(PATIENCE_MS)
        watch = Watch()
        await watch.attach(context)
        if tap:
            await context.add_init_script(TAP)
        page = await context.new_page()
        visit = Visit(house, context, page, watch, language, host)
        try:
            yield visit
        except BaseException as error:
            if watch.problems:
                error.add_note("\n".join(["meanwhile in the page:", *watch.problems]))
            raise
        watch.check()

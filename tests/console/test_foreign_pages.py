"""Clients in a browser that are served from elsewhere, as those of the field are."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from tests.console.house import ConsoleHouse
from tests.support.servers import free_ports

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

DEVICE: Final = {"Device-Id": "02:00:00:00:00:21", "Client-Id": "a-page"}

ASK_OTA: Final = """async ([url, names]) => {
  const headers = { "Content-Type": "application/json", ...names };
  try {
    const answer = await fetch(url, { method: "POST", headers, body: "{}" });
    return await answer.json();
  } catch (error) {
    return { refused: String(error) };
  }
}"""

CONNECT: Final = """([url, names, token]) => new Promise((done) => {
  const query = new URLSearchParams({ ...names, Authorization: `Bearer ${token}` });
  const socket = new WebSocket(`${url}?${query}`);
  const hello = { type: "hello", version: 1, transport: "websocket" };
  socket.onopen = () => socket.send(JSON.stringify(hello));
  socket.onmessage = ({ data }) => { done(JSON.parse(data)); socket.close(); };
  socket.onerror = () => done({ type: "refused" });
})"""


class Welcoming(ConsoleHouse):
    """A server that lets the pages of one origin in."""

    def __init__(self, folder: Path, origin: str) -> None:
        self.origin = origin
        super().__init__(folder)

    def write(self, access: str, workers: int = 1) -> None:
        """Write the settings."""
        super().write(access, workers)
        file = self.folder / "vixio.yaml"
        text = file.read_text("utf-8")
        assert text.startswith("server: {")
        allowed = json.dumps([self.origin])
        file.write_text(text.replace("server: {", f"server: {{allowed_origins: {allowed}, ", 1))


@asynccontextmanager
async def page_of(browser: Browser, port: int) -> AsyncIterator[Page]:
    """Open an empty page of a server of its own.

    One that the test only makes up is of no known network: the browser lets it reach no loopback.
    """

    async def empty(_: web.Request) -> web.Response:
        return web.Response(text="<p>A client", content_type="text/html")

    app = web.Application()
    app.router.add_get("/", empty)
    runner = web.AppRunner(app)
    await runner.setup()
    context = await browser.new_context()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        page = await context.new_page()
        await page.goto(f"http://127.0.0.1:{port}/")
        yield page
    finally:
        await context.close()
        await runner.cleanup()


async def asks_ota(page: Page, house: ConsoleHouse) -> dict[str, Any]:
    found: dict[str, Any] = await page.evaluate(ASK_OTA, [house.ota_url, DEVICE])
    return found


async def connects(page: Page, place: dict[str, Any]) -> str:
    """Return the type of the first message."""
    told = await page.evaluate(CONNECT, [place["url"], DEVICE, place["token"]])
    return str(told["type"])


async def test_a_page_that_is_allowed_asks_once_and_talks_once_claimed(
    tmp_path: Path, browser: Browser
) -> None:
    own, foreign = free_ports(2)
    house = Welcoming(tmp_path, f"http://127.0.0.1:{own}")
    async with house.serving(), house.api() as http:
        async with page_of(browser, own) as page:
            told = await asks_ota(page, house)
            assert await connects(page, told["websocket"]) == "refused"
            body = {"code": told["activation"]["code"], "name": "Page"}
            async with http.post("/api/v1/devices/claim", json=body) as answer:
                assert answer.status == 200, await answer.text()
            assert await connects(page, told["websocket"]) == "hello"
        async with page_of(browser, foreign) as page:
            assert "Failed to fetch" in (await asks_ota(page, house))["refused"]
            assert await connects(page, told["websocket"]) == "refused"

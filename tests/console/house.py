"""A server of the tests with its console: a real process, its first password, its devices."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import aiohttp

from firmware_test_client import DeviceConfig, SimulatedDevice
from tests.console.watch import Watch
from tests.e2e.house import House
from tests.e2e.processes import Running
from tests.support.waiting import until

NAME: Final = "vixio.lan"
"""By this name the server may be called beside its address; the browser finds it."""

NO_MEMORY: Final = "memory: {store: none}\n"
"""In the settings of every test."""


class ConsoleHouse(House):
    """A server's folder. ``more``: lines of the settings, beside those of every test.

    ``memory``: whether it remembers.
    """

    def __init__(
        self, folder: Path, more: str = "", access: str = "activation", *, memory: bool = False
    ) -> None:
        self._more = more
        self._memory = memory
        self._login: dict[str, Any] | None = None
        self.watches: list[Watch] = []
        """Of its pages, which go on asking when a test ends its server before them."""
        super().__init__(folder, "", access)

    def write(self, access: str, workers: int = 1) -> None:
        """Write the settings."""
        super().write(access, workers)
        file = self.folder / "vixio.yaml"
        text = file.read_text("utf-8")
        if self._memory:
            assert NO_MEMORY in text
            text = text.replace(NO_MEMORY, "")
        file.write_text(f"{text}api: {{hosts: [{NAME}]}}\n{self._more}", "utf-8")

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Running]:
        """Run the server until the block ends."""
        async with super().serving() as server:
            yield server
            for watch in self.watches:
                watch.expect_unreachable()

    def url(self, place: str = "", host: str = "127.0.0.1") -> str:
        """Return the address of the console; ``place``: of a page, such as ``#/devices``."""
        return f"http://{host}:{self.http_port}/console/{place}"

    async def password(self) -> str:
        """Return the first password, when the server has made it."""
        file = self.folder / "data" / "api_password"
        await until(
            lambda: file.exists() and file.read_text("utf-8").endswith("\n"),
            what="the first password",
            seconds=60,
        )
        return file.read_text("utf-8").strip()

    async def login(self) -> dict[str, Any]:
        """Return the answer to a login, which is made once: there are few tries a minute."""
        if self._login is None:
            url = f"http://127.0.0.1:{self.http_port}/api/v1/login"
            body = {"password": await self.password()}
            async with aiohttp.ClientSession() as http, http.post(url, json=body) as answer:
                assert answer.status == 200, await answer.text()
                self._login = await answer.json()
        assert self._login is not None
        return self._login

    @asynccontextmanager
    async def api(self) -> AsyncIterator[aiohttp.ClientSession]:
        """Return a client that is signed in; paths of requests begin with ``/api/v1``."""
        root = f"http://127.0.0.1:{self.http_port}"
        headers = {"Authorization": f"Bearer {(await self.login())['token']}"}
        async with aiohttp.ClientSession(root, headers=headers) as http:
            yield http

    async def visitor(self, config: DeviceConfig) -> tuple[SimulatedDevice, asyncio.Task[None]]:
        """Start a device that nobody has claimed, until it shows a code; return its start too."""
        device = SimulatedDevice(config)
        starting = asyncio.create_task(device.start())
        await device.wait_for_activation()
        return device, starting

    @asynccontextmanager
    async def member(self, name: str, **options: object) -> AsyncIterator[SimulatedDevice]:
        """Start a device, claim it under this name, and connect it."""
        device, starting = await self.visitor(self.device(**options))
        try:
            async with self.api() as http:
                shown = await device.wait_for_activation()
                body = {"code": shown.code, "name": name}
                async with http.post("/api/v1/devices/claim", json=body) as answer:
                    assert answer.status == 200, await answer.text()
            async with asyncio.timeout(60):
                await starting
            yield device
        finally:
            starting.cancel()
            await device.close()

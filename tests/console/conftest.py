"""Servers and browsers for the tests of the console.

These tests share one event loop, since the browser that they share belongs to one. They are skipped
unless `make test-console` says where its packages are (``VIXIO_TEST_CONSOLE``).
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest
import pytest_asyncio

from tests.console.house import ConsoleHouse
from tests.console.sound import microphone_file
from tests.console.visit import PATIENCE_MS, Visit, launched, visiting

if TYPE_CHECKING:
    from playwright.async_api import Browser, Playwright

FOLDER = Path(__file__).parent

REQUIRED = "VIXIO_TEST_CONSOLE"
"""The folder with the npm packages; set by `make test-console`."""

WITHOUT = ("test_places.py",)
"""These need neither a browser nor packages, and always run."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have the tests of this folder share a loop, and skip them without their packages."""
    skip = pytest.mark.skip(reason="Chromium is not asked for; `make test-console` runs it")
    for item in items:
        if FOLDER in item.path.parents and item.path.name not in WITHOUT:
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
            if not os.environ.get(REQUIRED):
                item.add_marker(skip)


class OpenVisit(Protocol):
    """Opens a browser for a server; options as of :func:`tests.console.visit.visiting`."""

    async def __call__(
        self,
        house: ConsoleHouse,
        *,
        browser: Browser | None = None,
        **options: Any,  # noqa: ANN401 - of visiting
    ) -> Visit: ...


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def playwright() -> AsyncIterator[Playwright]:
    """The library that drives the browser."""
    from playwright.async_api import async_playwright, expect

    expect.set_options(timeout=PATIENCE_MS)
    async with async_playwright() as driver:
        yield driver


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser(playwright: Playwright) -> AsyncIterator[Browser]:
    """A Chromium without a microphone, for all tests."""
    async with launched(playwright) as chromium:
        yield chromium


@pytest_asyncio.fixture(loop_scope="session")
async def speaking_browser(
    playwright: Playwright, tmp_path: Path
) -> AsyncIterator[Callable[..., Awaitable[Browser]]]:
    """Start a Chromium whose microphone hears sentences: ``await speaking_browser("hello")``."""
    async with AsyncExitStack() as stack:

        async def start(*sentences: str, **options: Any) -> Browser:  # noqa: ANN401 - of the WAV
            path = await microphone_file(tmp_path, *sentences, **options)
            return await stack.enter_async_context(launched(playwright, path))

        yield start


@pytest_asyncio.fixture(loop_scope="session")
async def house(tmp_path: Path) -> AsyncIterator[ConsoleHouse]:
    """A running server of its own. For one that is restarted make a ConsoleHouse."""
    new = ConsoleHouse(tmp_path)
    async with new.serving():
        yield new


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def shared_house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ConsoleHouse]:
    """A running server for the tests of a module, which change nothing that others see."""
    new = ConsoleHouse(tmp_path_factory.mktemp("house"))
    async with new.serving():
        yield new


@pytest_asyncio.fixture(loop_scope="session")
async def open_visit(browser: Browser) -> AsyncIterator[OpenVisit]:
    """Open browsers, which end with the test; what was wrong in a page fails it."""
    shared = browser
    async with AsyncExitStack() as stack:

        async def start(
            house: ConsoleHouse,
            *,
            browser: Browser | None = None,
            **options: Any,  # noqa: ANN401 - of visiting
        ) -> Visit:
            visit = await stack.enter_async_context(visiting(browser or shared, house, **options))
            house.watches.append(visit.watch)
            return visit

        yield start

"""A thousand devices in the console, of which many change at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.console.conftest import OpenVisit
from tests.console.house import ConsoleHouse
from vixio.bench.load.registered import registry_of

pytestmark = pytest.mark.slow

MANY = 1_000

CHANGED = 120
"""At once: each is an event, and the API takes 600 requests a minute."""


@pytest_asyncio.fixture(loop_scope="session")
async def crowded(tmp_path: Path) -> AsyncIterator[ConsoleHouse]:
    """A server that knows many devices."""
    house = ConsoleHouse(tmp_path)
    (tmp_path / "data").mkdir(exist_ok=True)
    await asyncio.to_thread(registry_of, tmp_path / "data", MANY)
    async with house.serving():
        yield house


async def test_a_thousand_devices_are_found_and_follow(
    crowded: ConsoleHouse, open_visit: OpenVisit
) -> None:
    from playwright.async_api import expect

    visit = await open_visit(crowded)
    asked: list[str] = []
    visit.page.on("request", lambda request: asked.append(request.url))
    await visit.enter("#/devices")
    page = visit.page
    await expect(page.locator(".device")).to_have_count(MANY)
    await page.get_by_label("Search").fill("device 77")
    await expect(page.locator(".device")).to_have_count(11)  # 77, 770 to 779
    await page.get_by_label("Search").fill("moved")
    await expect(page.get_by_text("No device matches.")).to_be_visible()
    asked.clear()
    async with crowded.api() as http:
        for each in range(CHANGED):
            device = f"06:00:00:00:00:{each:02x}"
            body = {"name": f"Moved {each}"}
            async with http.patch(f"/api/v1/devices/{device}", json=body) as answer:
                assert answer.status == 200, await answer.text()
    await expect(page.locator(".device")).to_have_count(CHANGED)
    assert len(asked) < CHANGED / 2

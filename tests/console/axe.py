"""Accessibility of a page, by axe-core."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from playwright.async_api import Page

GRAVE: Final = frozenset({"serious", "critical"})

RUN: Final = "async () => (await axe.run(document, { resultTypes: ['violations'] })).violations"


async def check_accessibility(page: Page) -> None:
    """Raise AssertionError if axe finds something serious or critical in what is shown."""
    script = Path(os.environ["VIXIO_TEST_CONSOLE"], "node_modules/axe-core/axe.min.js")
    # Not by a tag, which the page's policy forbids. Colours are judged when they stand still.
    await page.evaluate(await asyncio.to_thread(script.read_text, "utf-8"))
    await page.evaluate("() => Promise.all(document.getAnimations().map((each) => each.finished))")
    found: list[dict[str, Any]] = await page.evaluate(RUN)
    grave = [
        f"{each['impact']} {each['id']}: {each['help']}\n  "
        + "\n  ".join(node["html"] for node in each["nodes"])
        for each in found
        if each["impact"] in GRAVE
    ]
    assert not grave, f"{page.url}:\n" + "\n".join(grave)

"""Pictures of the console's pages for docs/console: `make console-shots`.

Names of pages as arguments picture these alone. The server is a household of the tests. Pictures
are the same in every run, unless a page has changed: see :mod:`tests.console.still`.
"""

from __future__ import annotations

import asyncio
import base64
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from tests.console.house import ConsoleHouse
from tests.console.household import TALKING, household
from tests.console.places import PLACES, Place
from tests.console.still import NOW_MS, hold_still
from tests.console.visit import DESKTOP, PHONE, Language, Theme, Visit, launched, visiting

if TYPE_CHECKING:
    from playwright.async_api import Browser

FOLDER: Final = Path(__file__).resolve().parents[2] / "docs" / "console"

QUALITY: Final = 35
MOST_BYTES: Final = 1_700_000
"""Of all pictures together: everybody who clones the repository gets them."""

LANGUAGES: Final[tuple[Language, ...]] = ("en", "zh")
THEMES: Final[tuple[Theme, ...]] = ("light", "dark")
ENDINGS: Final = (*(f"{each}-{theme}" for each, theme in product(LANGUAGES, THEMES)), "phone")
"""Of the names of pictures."""

HIDE: Final = """(selector) => {
  for (const each of document.querySelectorAll(selector)) each.style.visibility = "hidden";
}"""


REPAINT: Final = """async () => {
  const frame = () => new Promise((end) => { requestAnimationFrame(() => { end(); }); });
  document.documentElement.style.display = "none";
  await frame();
  await frame();
  document.documentElement.style.display = "";
  await frame();
  await frame();
}"""
"""Lines that were painted in pieces, as the page was filled, differ by a shade from run to run."""


async def shoot(visit: Visit, path: Path) -> None:
    """Write a picture of what the window shows."""
    session = await visit.context.new_cdp_session(visit.page)
    wanted = {"format": "webp", "quality": QUALITY}
    found = await session.send("Page.captureScreenshot", wanted)
    await asyncio.to_thread(path.write_bytes, base64.b64decode(found["data"]))


async def picture(
    browser: Browser,
    house: ConsoleHouse,
    places: Sequence[Place],
    ending: str,
    language: Language,
    theme: Theme,
    window: tuple[int, int],
) -> None:
    """Picture the pages in one form."""
    # Its session does not expire, whatever the browser takes for now.
    login = {**await house.login(), "expires_at": NOW_MS + 3_600_000}
    for place in places:
        async with visiting(
            browser, house, language=language, theme=theme, window=window, tap=False
        ) as visit:
            await hold_still(visit.context)
            if place.refused:
                visit.watch.expect(422, place.refused)
            if place.signed_in:
                await visit.enter(place.address(TALKING), login=login)
            else:
                await visit.go(place.address(TALKING))
                await visit.settled()
            page = visit.page
            await page.locator(place.ready).first.wait_for(state="attached")
            await page.evaluate("() => document.fonts.ready")
            await page.evaluate("() => { document.activeElement?.blur(); }")
            if place.unsteady:
                await page.evaluate(HIDE, place.unsteady)
            await page.evaluate(REPAINT)
            await shoot(visit, FOLDER / f"{place.name}-{ending}.webp")


async def main(names: Sequence[str]) -> int:
    """Picture all pages, or those that are named; return the exit status."""
    from playwright.async_api import async_playwright

    pictured = [place for place in PLACES if place.pictured]
    places = [place for place in pictured if not names or place.name in names]
    if unknown := set(names) - {place.name for place in places}:
        print(f"there is no page {sorted(unknown)}; see tests/console/places.py")
        return 2
    FOLDER.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="vixio-shots-") as folder:
        async with (
            async_playwright() as driver,
            launched(driver) as browser,
            household(Path(folder)) as house,
        ):
            for language, theme in product(LANGUAGES, THEMES):
                ending = f"{language}-{theme}"
                await picture(browser, house, places, ending, language, theme, DESKTOP)
            await picture(browser, house, places, "phone", "en", "light", PHONE)
    known = {f"{place.name}-{ending}" for place in pictured for ending in ENDINGS}
    for old in FOLDER.glob("*.webp"):
        if old.stem not in known:
            old.unlink()
    size = sum(path.stat().st_size for path in FOLDER.glob("*.webp"))
    print(f"docs/console: {len(list(FOLDER.glob('*.webp')))} pictures, {size / 1000:.0f} kB")
    if size > MOST_BYTES:
        print(f"that is more than {MOST_BYTES / 1000:.0f} kB: picture less, or lower QUALITY")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))

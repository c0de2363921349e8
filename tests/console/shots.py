"""Pictures of the console's pages for docs/console: `make console-shots`.

Names of pages as arguments picture these alone. A server of its own has a device that talks, one
that sleeps and one that waits for its claim. Pictures are the same in every run, unless a page has
changed: see :mod:`tests.console.still`.
"""

from __future__ import annotations

import asyncio
import base64
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from tests.console.house import ConsoleHouse
from tests.console.places import PLACES, Place
from tests.console.still import NOW_MS, hold_still
from tests.console.visit import DESKTOP, PHONE, Language, Theme, Visit, launched, visiting

if TYPE_CHECKING:
    from playwright.async_api import Browser

FOLDER: Final = Path(__file__).resolve().parents[2] / "docs" / "console"

TALKING: Final = "02:00:00:00:00:01"
SLEEPING: Final = "02:00:00:00:00:02"
WAITING: Final = "02:00:00:00:00:03"

SAID: Final = ("hello", "set the volume to 30", "what can you do")

QUALITY: Final = 50
MOST_BYTES: Final = 1_500_000
"""Of all pictures together: everybody who clones the repository gets them."""

LANGUAGES: Final[tuple[Language, ...]] = ("en", "zh")
THEMES: Final[tuple[Theme, ...]] = ("light", "dark")

HIDE: Final = """(selector) => {
  for (const each of document.querySelectorAll(selector)) each.style.visibility = "hidden";
}"""


@asynccontextmanager
async def inhabited() -> AsyncIterator[ConsoleHouse]:
    """Run a server with its devices."""
    with TemporaryDirectory(prefix="vixio-shots-") as folder:
        house = ConsoleHouse(Path(folder))
        async with house.serving():
            async with house.member("Bedroom", device_id=SLEEPING, board="m5stack-core-s3"):
                pass
            waiting, starting = await house.visitor(
                house.device(device_id=WAITING, board="atk-dnesp32s3", client_id="waiting")
            )
            try:
                async with house.member("Kitchen", device_id=TALKING, mode="manual") as device:
                    for words in SAID:
                        await device.type_text(words)
                    yield house
            finally:
                starting.cancel()
                await asyncio.wait([starting])
                await waiting.close()


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
            if place.signed_in:
                await visit.enter(place.address(TALKING), login=login)
            else:
                await visit.go(place.address(TALKING))
                await visit.settled()
            page = visit.page
            await page.locator(place.ready).first.wait_for()
            await page.evaluate("() => document.fonts.ready")
            await page.evaluate("() => { document.activeElement?.blur(); }")
            if place.unsteady:
                await page.evaluate(HIDE, place.unsteady)
            await shoot(visit, FOLDER / f"{place.name}-{ending}.webp")


async def main(names: Sequence[str]) -> int:
    """Picture all pages, or those that are named; return the exit status."""
    from playwright.async_api import async_playwright

    places = [place for place in PLACES if not names or place.name in names]
    if unknown := set(names) - {place.name for place in places}:
        print(f"there is no page {sorted(unknown)}; see tests/console/places.py")
        return 2
    FOLDER.mkdir(parents=True, exist_ok=True)
    if not names:
        for old in FOLDER.glob("*.webp"):
            old.unlink()
    async with (
        async_playwright() as driver,
        launched(driver) as browser,
        inhabited() as house,
    ):
        for language, theme in product(LANGUAGES, THEMES):
            await picture(browser, house, places, f"{language}-{theme}", language, theme, DESKTOP)
        await picture(browser, house, places, "phone", "en", "light", PHONE)
    size = sum(path.stat().st_size for path in FOLDER.glob("*.webp"))
    print(f"docs/console: {len(list(FOLDER.glob('*.webp')))} pictures, {size / 1000:.0f} kB")
    if size > MOST_BYTES:
        print(f"that is more than {MOST_BYTES / 1000:.0f} kB: picture less, or lower QUALITY")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))

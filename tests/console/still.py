"""The same answers in every run: what differs from one to the next is set to what never does."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Route

NOW: Final = datetime(2026, 6, 1, 18, 30, tzinfo=UTC)
"""What the browser takes for now."""

NOW_MS: Final = round(NOW.timestamp() * 1000)

AGO_MS: Final = 4 * 60_000
"""How long ago everything was."""

AHEAD_MS: Final = 11 * 3_600_000
"""How far ahead everything is that is to come."""

STAGES: Final[Mapping[str, int]] = {
    "voice_end": -480,
    "turn_end": 0,
    "transcript": 140,
    "first_token": 210,
    "first_sentence": 290,
    "first_audio": 370,
    "first_frame": 380,
}

CODE: Final = "246810"

_TIMES: Final = range(10**12, 10**13)
"""Integers among these are taken for milliseconds since 1970."""


def stilled(value: Any, key: str = "") -> Any:  # noqa: ANN401 - JSON
    """Return the answer with the same times, durations and codes in every run."""
    if isinstance(value, dict):
        if key == "stages":
            return {name: STAGES.get(name, 100) for name in value}
        return {name: stilled(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [stilled(each, key) for each in value]
    if key == "code" and isinstance(value, str) and value:
        return CODE
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if isinstance(value, int) and value in _TIMES:
        future = value > time.time() * 1000 + AGO_MS
        return NOW_MS + AHEAD_MS if future else NOW_MS - AGO_MS
    if key == "ms" or key.endswith("_ms"):
        return 120
    return value


async def hold_still(context: BrowserContext) -> None:
    """Have pages of a context see the same in every run. The stream of events is as it is."""
    await context.clock.set_fixed_time(NOW)

    async def answer(route: Route) -> None:
        found = await route.fetch()
        if "json" not in found.headers.get("content-type", ""):
            await route.fulfill(response=found)
            return
        await route.fulfill(response=found, body=json.dumps(stilled(await found.json())))

    await context.route("**/api/v1/**", answer)

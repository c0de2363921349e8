"""The same answers in every run: what differs from one to the next is set to what never does."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from vixio.web.api.routes.server import SVG, code_picture

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

PLACE: Final = "192.168.1.20:8003"
"""Where the server is, instead of a port that was free."""

OTA_URL: Final = f"http://{PLACE}/xiaozhi/ota/"

FILE: Final = "/home/pi/.local/share/vixio/api_password"
"""Where the password is, instead of a folder of the run."""

_ADDRESS: Final = re.compile(r"127\.0\.0\.1:\d+")

POINTS: Final = 120
INTERVAL_S: Final = 30

_LOAD: Final[Mapping[str, Callable[[float], float]]] = {
    "connected": lambda wave: round(3 + 2 * wave),
    "turns": lambda wave: round(1 + wave),
    "failures": lambda _: 0,
    "not_understood": lambda _: 0,
    "lag_ms": lambda wave: round(2 + wave, 1),
    "rss_bytes": lambda wave: round(210e6 + 4e6 * wave),
    "cpu": lambda wave: round(0.1 + 0.05 * wave, 2),
}
"""What the charts of the load show: functions of a wave between -1 and 1."""

_TIMES: Final = range(10**12, 10**13)
"""Integers among these are taken for milliseconds since 1970."""


def stilled(value: Any, key: str = "") -> Any:  # noqa: ANN401 - JSON
    """Return the answer with the same times, durations and codes in every run."""
    if isinstance(value, dict):
        if "rss_bytes" in value:
            value |= load()
        elif "slow" in value:
            value |= week(value["slow"])
        elif key == "stages":
            value = {name: STAGES.get(name, 100) for name in value}
        else:
            value = {name: stilled(each, name) for name, each in value.items()}
        return value
    if isinstance(value, list):
        return [stilled(each, key) for each in value]
    if isinstance(value, str):
        if key == "password_file":
            return FILE
        return CODE if key == "code" and value else _ADDRESS.sub(PLACE, value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return _number(value, key)


def _number(value: float, key: str) -> float:
    if isinstance(value, int) and value in _TIMES:
        future = value > time.time() * 1000 + AGO_MS
        return NOW_MS + AHEAD_MS if future else NOW_MS - AGO_MS
    if key == "wait_s":
        return 0.2 if value >= 0.05 else 0
    if key == "ms" or key.endswith("_ms"):
        return 120
    return 3 * 3600 if key == "uptime_s" else value


def load() -> dict[str, Any]:
    """Return the load of the last hour, made up."""
    waves = [math.sin(index / 9) for index in range(POINTS)]
    first = NOW_MS - (POINTS - 1) * INTERVAL_S * 1000
    series = {name: [of(wave) for wave in waves] for name, of in _LOAD.items()}
    at = [first + index * INTERVAL_S * 1000 for index in range(POINTS)]
    return {"at": at, "interval_s": INTERVAL_S, **series}


def week(slow: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures of a week, made up; ``slow``: turns that are there."""
    days = [
        {
            "day": (NOW.date() - timedelta(days=before)).isoformat(),
            "turns": turns,
            "answered": turns - bad,
            "failed": 0,
            "tool_failed": 0,
            "not_understood": bad,
            "interrupted": 0,
            "wait_p50_ms": 1_150 + 90 * bad,
            "wait_p95_ms": 2_600,
        }
        for before, (turns, bad) in enumerate(
            ((31, 1), (46, 3), (52, 2), (28, 1), (39, 4), (61, 6), (44, 5))
        )
    ]
    named = ({"wait_ms": 4_020, "part_ms": 3_110}, {"wait_ms": 2_640, "part_ms": 1_480})
    parts = ("thought", "spoke")
    return {
        "days": days[::-1],
        "slow": [
            {**turn, **times, "part": part, "at": NOW_MS - AGO_MS}
            for turn, times, part in zip(slow, named, parts, strict=False)
        ],
        "tokens": [
            {"profile": "butler", "input": 184_300, "output": 9_120, "turns": 213},
            {"profile": "", "input": 61_050, "output": 4_870, "turns": 88},
        ],
    }


async def hold_still(context: BrowserContext) -> None:
    """Have pages of a context see the same in every run. The stream of events is as it is."""
    await context.clock.set_fixed_time(NOW)

    async def answer(route: Route) -> None:
        if route.request.url.endswith("/ota-qr.svg"):
            await route.fulfill(body=code_picture(OTA_URL), content_type=SVG)
            return
        found = await route.fetch()
        if "json" not in found.headers.get("content-type", ""):
            await route.fulfill(response=found)
            return
        await route.fulfill(response=found, body=json.dumps(stilled(await found.json())))

    await context.route("**/api/v1/**", answer)

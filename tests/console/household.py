"""A server with something on each page: devices, a conversation, a profile, a person, reminders."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import aiohttp

from tests.console.house import ConsoleHouse

TALKING: Final = "02:00:00:00:00:01"
SLEEPING: Final = "02:00:00:00:00:02"
WAITING: Final = "02:00:00:00:00:03"

SAID: Final = ("hello", "remember that I like tea", "set the volume to 30", "what can you do")

PROFILE: Final[Mapping[str, Any]] = {
    "language": "en",
    "wake_reply": "At your service.",
    "instructions": "Answer like a butler, in one sentence.",
}

FURNITURE: Final[tuple[tuple[str, str, Mapping[str, Any]], ...]] = (
    ("PUT", "/profiles/butler", {"content": PROFILE}),
    ("PUT", f"/devices/{SLEEPING}/profile", {"profile": "butler"}),
    ("POST", "/people", {"name": "Anna"}),
    ("PUT", f"/devices/{TALKING}/person", {"person": "Anna"}),
    (
        "POST",
        "/reminders",
        {
            "device": "Kitchen",
            "kind": "alarm",
            "text": "",
            "at": "06:30",
            "days": ["weekdays"],
        },
    ),
    ("POST", "/reminders", {"device": "Kitchen", "text": "feed the cat", "in_seconds": 43_200}),
)
"""Requests to the API: method, path, body."""


async def furnish(http: aiohttp.ClientSession) -> None:
    """Make what pages are to show."""
    for method, path, body in FURNITURE:
        async with http.request(method, f"/api/v1{path}", json=body) as answer:
            assert answer.status < 300, f"{path}: {await answer.text()}"


@asynccontextmanager
async def household(folder: Path) -> AsyncIterator[ConsoleHouse]:
    """Run a server: a device talks and stays connected, one sleeps, one waits for its claim."""
    house = ConsoleHouse(folder, memory=True)
    async with house.serving():
        async with house.member("Bedroom", device_id=SLEEPING, board="m5stack-core-s3"):
            pass
        waiting, starting = await house.visitor(
            house.device(device_id=WAITING, board="atk-dnesp32s3", client_id="waiting")
        )
        try:
            async with (
                house.member("Kitchen", device_id=TALKING, mode="manual") as device,
                house.api() as http,
            ):
                await furnish(http)
                for words in SAID:
                    assert (await device.type_text(words)).text
                yield house
        finally:
            starting.cancel()
            await asyncio.wait([starting])
            await waiting.close()

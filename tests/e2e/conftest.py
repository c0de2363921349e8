"""What every end-to-end test has around it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest_asyncio

from tests.e2e.checks import HELD_UP, STALLS


@pytest_asyncio.fixture(autouse=True)
async def _watched() -> AsyncIterator[None]:
    """Keep a record of how long the event loop stood still, and of the machine's part in it."""
    watching = [asyncio.create_task(STALLS.run()), asyncio.create_task(HELD_UP.run())]
    yield
    for task in watching:
        task.cancel()
    await asyncio.wait(watching)

"""What every end-to-end test has around it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest_asyncio

from tests.e2e.checks import STALLS


@pytest_asyncio.fixture(autouse=True)
async def _watched() -> AsyncIterator[None]:
    """Keep a record of how long the event loop stood still."""
    watching = asyncio.create_task(STALLS.run())
    yield
    watching.cancel()
    await asyncio.wait([watching])

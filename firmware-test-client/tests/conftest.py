"""A small server that speaks the protocol, written for these tests alone."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from scripted_server import ScriptedServer


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    """A server on a free loopback port that answers hello and whatever the test tells it to."""
    async with ScriptedServer() as running:
        yield running

"""A small server for these tests that speaks the protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from scripted_server import ScriptedServer


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    """A server on a free loopback port, scripted by the test."""
    async with ScriptedServer() as running:
        yield running

"""A small server for these tests that speaks the protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from mqtt_server import MqttServer
from ota_server import OtaServer
from scripted_server import ScriptedServer


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    """A server on a free loopback port, scripted by the test."""
    async with ScriptedServer() as running:
        yield running


@pytest.fixture
def ota() -> Iterator[OtaServer]:
    """An HTTP server on a free loopback port, for OTA and downloads."""
    with OtaServer() as running:
        yield running


@pytest.fixture
async def broker() -> AsyncIterator[MqttServer]:
    """A server by MQTT and UDP on free loopback ports, scripted by the test."""
    async with MqttServer() as running:
        yield running

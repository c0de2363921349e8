"""The brokers that the contract is run on: one in memory, and those that are installed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio

from tests.brokers.parts import LIMIT, Connect, number
from tests.support.brokers import BrokerServer, make_server
from tests.support.pulsar import PulsarServer, spread_consumers
from tests.support.waiting import until
from vixio.bus import ToolBus, connect
from vixio.core.metrics import Counters

BACKENDS = ("memory", "nats", "rabbitmq", "pulsar")


@pytest.fixture(scope="session", params=BACKENDS)
def server(request: pytest.FixtureRequest) -> Iterator[BrokerServer | None]:
    """Run the broker of a backend; None for the one in memory."""
    if request.param == "memory":
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="vixio-broker-") as directory:
        broker = make_server(request.param, Path(directory))
        try:
            broker.start()
            yield broker
        finally:
            broker.kill()


@pytest.fixture(autouse=True)
def _spread(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "server" in request.fixturenames:
        server = request.getfixturevalue("server")
        if isinstance(server, PulsarServer):
            spread_consumers(server, monkeypatch)


@pytest.fixture
def url(server: BrokerServer | None) -> str:
    """Return the URL of the broker, which is up."""
    if server is None:
        return f"memory://contract-{number()}"
    if not server.answers():
        server.start()
    return server.url


@pytest.fixture
def queue() -> str:
    """Return a queue of the test's own."""
    return f"non-persistent://tg/request/contract-{os.getpid()}-{number()}"


@pytest.fixture
def prefix() -> str:
    """Return the first part of a test's own queues for announcements."""
    return f"contract.p{os.getpid()}-{number()}"


@pytest_asyncio.fixture
async def connected(url: str) -> AsyncIterator[Connect]:
    """Return what makes a connected bus."""
    async with AsyncExitStack() as stack:

        async def make() -> ToolBus:
            bus = connect(url, counters=Counters())
            stack.push_async_callback(bus.close)
            await bus.start()
            await until(lambda: bus.connected, what="the broker", seconds=LIMIT)
            return bus

        yield make


@pytest_asyncio.fixture
async def caller(connected: Connect) -> ToolBus:
    """Return the bus of a caller."""
    return await connected()


@pytest_asyncio.fixture
async def service(connected: Connect) -> ToolBus:
    """Return the bus of a service."""
    return await connected()

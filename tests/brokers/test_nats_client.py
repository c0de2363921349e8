"""Servers of NATS that hang: the client leaves one, and finds another that answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import nats.errors
import pytest

from tests.brokers.parts import LIMIT
from tests.support.brokers import BrokerServer, make_server
from tests.support.waiting import until
from vixio.bus import nats_client
from vixio.bus.address import parse_address
from vixio.bus.upkeep import CONNECT_S

MANY = 400
PIECE = b"x" * 65_536
"""Many of these are more than what sockets and the client hold back."""


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[list[BrokerServer]]:
    """Run two servers that know nothing of each other."""
    made: list[BrokerServer] = []
    with ExitStack() as stack:
        for number in range(2):
            folder = tmp_path / str(number)
            folder.mkdir()
            server = make_server("nats", folder)
            server.start()
            stack.callback(server.kill)
            made.append(server)
        yield made


@pytest.mark.parametrize("pieces", [0, MANY])
async def test_a_server_that_hangs_is_left_whatever_is_unsent(
    servers: list[BrokerServer], pieces: int
) -> None:
    lost = asyncio.Event()

    async def closed() -> None:
        lost.set()

    client = await nats_client.connect(parse_address(servers[0].url), closed, ping=1)

    async def flood() -> None:
        with suppress(nats.errors.ConnectionClosedError):
            for _ in range(pieces):
                await client.publish("of.no.interest", PIECE)

    servers[0].stop()
    sending = asyncio.create_task(flood())
    async with asyncio.timeout(LIMIT):
        await lost.wait()
        await nats_client.shut(client)
        await sending


async def lose(server: BrokerServer) -> None:
    """Kill the server while a client asks it all the time whether it lives."""
    lost = asyncio.Event()

    async def closed() -> None:
        lost.set()

    before = asyncio.all_tasks()
    client = await nats_client.connect(parse_address(server.url), closed, ping=1)
    client.options.update({"ping_interval": 0, "max_outstanding_pings": 10_000_000})
    await until(lambda: client._pings_outstanding > 10, what="asking all the time")
    server.kill()
    async with asyncio.timeout(LIMIT):
        await lost.wait()
    await nats_client.shut(client)
    await until(lambda: not asyncio.all_tasks() - before, what="the end of its tasks")


async def test_a_server_that_is_killed_while_it_is_asked_whether_it_lives(
    servers: list[BrokerServer],
) -> None:
    for _ in range(5):
        await lose(servers[0])
        servers[0].start()


async def test_of_several_servers_one_that_answers_is_found(servers: list[BrokerServer]) -> None:
    """Whichever the client tries first, and within the time for a connection."""

    async def closed() -> None: ...

    hung, good = servers
    hung.stop()
    address = parse_address(f"nats://127.0.0.1:{hung.port},127.0.0.1:{good.port}")
    for _ in range(6):
        async with asyncio.timeout(CONNECT_S):
            client = await nats_client.connect(address, closed)
        url = client.connected_url
        assert url is not None
        assert url.port == good.port
        await nats_client.shut(client)

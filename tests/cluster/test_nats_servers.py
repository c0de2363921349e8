"""Three NATS servers, of which one after another is killed or hung: also the one that leads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.cluster.commands import Commander, commands
from tests.cluster.fleet import Fleet, fleet
from tests.cluster.talkers import Crowd, crowd
from tests.support.clusters import Holder
from tests.support.nats_nodes import nodes
from tests.support.nats_servers import ClusteredServer, NatsServers, nats_servers
from tests.support.registry_databases import new_postgres, postgres_url
from tests.support.waiting import until
from vixio.cluster.nats.lease import NatsLease

__all__ = ["postgres_url"]

DEVICES = 12
SOON = 120.0

DEVICE = "02:00:00:00:00:01"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def servers() -> Iterator[NatsServers]:
    with nats_servers() as made:
        asyncio.run(made.until_ready())
        yield made


@pytest.fixture
def database(servers: NatsServers, request: pytest.FixtureRequest) -> str:
    """Make a database, once it is known that these tests are to run."""
    return new_postgres(request.getfixturevalue("postgres_url"))


@pytest.fixture
async def three(tmp_path: Path, servers: NatsServers, database: str) -> AsyncIterator[Fleet]:
    async with fleet(tmp_path, servers, database) as made:
        yield made


@pytest.fixture
async def talking(three: Fleet) -> AsyncIterator[Crowd]:
    async with crowd(DEVICES, three.ota_url) as made:
        await made.all_say(2, seconds=SOON)
        yield made


@pytest.fixture
async def commanding(three: Fleet, talking: Crowd) -> AsyncIterator[Commander]:
    async with commands(three, talking) as made:
        await made.all_reach_all(seconds=SOON)
        yield made


def of_role(servers: NatsServers, *, leads: bool) -> ClusteredServer:
    """Return the server that leads the bucket of claims, or one that follows it."""
    leader = servers.leader()
    return leader if leads else next(each for each in servers.members if each is not leader)


async def go_through(talking: Crowd, commanding: Commander) -> None:
    """Have all devices converse and move, and all of them commanded by all nodes."""
    for each in talking.talkers:
        each.leave()
    await talking.all_say(2, seconds=SOON)
    await commanding.all_reach_all(seconds=SOON)


async def test_a_device_that_moves_while_nothing_can_be_claimed(servers: NatsServers) -> None:
    """One server of three is no majority: it passes messages on, and keeps nothing."""
    alone = servers.members[0]
    url = servers.own_url.partition(",")[0]
    assert url.endswith(f":{alone.port}")
    async with nodes(url, 2, replicas=3) as (one, two):
        older = Holder()
        left = await one.leases.acquire(DEVICE, older.on_lost)
        await until(lambda: two.presence.where(DEVICE) == one.node)
        for each in servers.members[1:]:
            each.kill()
        found = await two.leases.acquire(DEVICE, Holder().on_lost)
        assert found.valid
        assert older.lost
        assert not left.valid
        for each in servers.members[1:]:
            each.start()
        await until(lambda: isinstance(found, NatsLease) and found.claim, seconds=SOON)
        assert found.valid
        await until(lambda: one.presence.where(DEVICE) == two.node)
        back = await one.leases.acquire(DEVICE, Holder().on_lost)
        assert back.token > found.token > left.token


async def test_more_servers_than_there_were(servers: NatsServers) -> None:
    """The buckets of one server are kept by three from the next start on."""
    async with nodes(servers.own_url, 1) as (one,):
        await one.leases.acquire(DEVICE, Holder().on_lost)
    async with nodes(servers.own_url, 1, replicas=3) as (one,):
        await servers.until_current()
        assert (await one.leases.acquire(DEVICE, Holder().on_lost)).valid


async def test_servers_are_replaced_one_after_another(
    servers: NatsServers, three: Fleet, talking: Crowd, commanding: Commander
) -> None:
    """First the one that leads, then one that follows: each is killed, and comes back later."""
    leader = servers.leader()
    followers = [each for each in servers.members if each is not leader]
    victim = leader
    while True:
        victim.kill()
        await go_through(talking, commanding)
        victim.start()
        await servers.until_current()
        await three.until_known(3)
        if not followers:
            break
        # Of two that are left, one leads at most.
        victim = next((each for each in followers if each is not servers.leader()), followers[0])
        followers.remove(victim)
    await go_through(talking, commanding)
    talking.check()
    commanding.check()


async def test_servers_that_hang(
    servers: NatsServers, three: Fleet, talking: Crowd, commanding: Commander
) -> None:
    """First the one that leads, then one that follows.

    When it goes on, it says what it was given long ago to nobody.
    """
    for leads in (True, False):
        victim = of_role(servers, leads=leads)
        victim.stop()
        await go_through(talking, commanding)
        victim.go_on()
        await servers.until_current()
        await three.until_known(3)
        await go_through(talking, commanding)
    talking.check()
    commanding.check()

"""Fifty devices in conversation with three nodes, of which one after another is killed or hung."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cluster.fleet import Fleet, fleet
from tests.cluster.talkers import Crowd, crowd
from tests.support.nats_nodes import JetStreamServer
from tests.support.registry_databases import new_postgres, postgres_url

__all__ = ["postgres_url"]

DEVICES = 50
SOON = 120.0
"""Seconds for all devices to have had two more turns: the machine may be busy."""

IMPATIENT_S = 10.0
"""How long a device waits for a reply that a node which hangs owes it. Where others wait so long on
a busy machine, they say their turn again, which costs nothing."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def database(bus: JetStreamServer, request: pytest.FixtureRequest) -> str:
    """Make a database, once it is known that these tests are to run."""
    return new_postgres(request.getfixturevalue("postgres_url"))


@pytest.fixture
async def three(tmp_path: Path, bus: JetStreamServer, database: str) -> AsyncIterator[Fleet]:
    async with fleet(tmp_path, bus, database) as made:
        yield made


@pytest.fixture
async def talking(three: Fleet) -> AsyncIterator[Crowd]:
    async with crowd(DEVICES, three.ota_url) as made:
        await made.all_say(2, seconds=SOON)  # more than may be lost
        yield made


async def test_a_rolling_upgrade_loses_no_turn(three: Fleet, talking: Crowd) -> None:
    for each in three.nodes:
        await talking.all_speak(three.url, seconds=SOON)
        await three.end(each, signal.SIGTERM)
        await talking.all_say(1, seconds=SOON)
        await three.start(each)
        await three.until_known(3)
        await talking.all_say(1, seconds=SOON)
    talking.check(lost=0)
    assert sum(each.cut for each in talking.talkers) == 0, "a reply was cut short"


async def test_nodes_that_are_killed(three: Fleet, talking: Crowd) -> None:
    """A turn that was just over may not have been written yet: one for each time at most."""
    for count, victims in enumerate(([0], [1, 2]), 1):
        await talking.all_speak(three.url, seconds=SOON)
        for index in victims:
            await three.end(three.nodes[index], signal.SIGKILL)
        await talking.all_say(2, seconds=SOON)
        talking.check(lost=count)
        for index in victims:
            await three.start(three.nodes[index])
        await three.until_known(3)


async def test_a_node_that_hangs(three: Fleet) -> None:
    """Its devices come back elsewhere; when it goes on, it says nothing to those it had."""
    hung = three.nodes[1]
    async with crowd(DEVICES, three.ota_url, IMPATIENT_S) as talking:
        await talking.all_say(2, seconds=SOON)
        await talking.all_speak(three.url, seconds=SOON)
        hung.signal(signal.SIGSTOP)
        await talking.all_say(2, seconds=SOON)
        hung.signal(signal.SIGCONT)
        await talking.all_say(1, seconds=SOON)
        await three.until_known(3)
        talking.check(lost=1)


async def test_a_broker_that_is_killed_costs_no_turn(
    bus: JetStreamServer, three: Fleet, talking: Crowd
) -> None:
    await talking.all_speak(three.url, seconds=SOON)
    bus.kill()
    await talking.all_say(2, seconds=SOON)
    talking.check()
    bus.start()
    await three.until_known(3)
    await talking.all_say(1, seconds=SOON)
    talking.check()
    assert sum(each.cut for each in talking.talkers) == 0


async def test_a_broker_and_a_node_that_are_killed_together(
    bus: JetStreamServer, three: Fleet, talking: Crowd
) -> None:
    await talking.all_speak(three.url, seconds=SOON)
    bus.kill()
    await three.end(three.nodes[0], signal.SIGKILL)
    await talking.all_say(2, seconds=SOON)
    bus.start()
    await three.start(three.nodes[0])
    await three.until_known(3)
    await talking.all_say(1, seconds=SOON)
    talking.check(lost=1)


async def test_a_broker_that_hangs(bus: JetStreamServer, three: Fleet, talking: Crowd) -> None:
    await talking.all_speak(three.url, seconds=SOON)
    bus.stop()
    await talking.all_say(2, seconds=SOON)
    bus.go_on()
    await three.until_known(3)
    await talking.all_say(1, seconds=SOON)
    talking.check()


async def test_the_balancer_is_killed(three: Fleet, talking: Crowd) -> None:
    """All devices come back at once, and find their conversations."""
    await talking.all_speak(three.url, seconds=SOON)
    three.proxy.kill()
    three.proxy.start()
    await three.until_served()
    await talking.all_say(2, seconds=SOON)
    talking.check(lost=1)


async def test_a_node_that_is_cut_off_from_the_bus(three: Fleet, talking: Crowd) -> None:
    """A split: its conversations go on, and afterwards it is one of the cluster again."""
    alone = three.nodes[0]
    assert alone.bus is not None
    await talking.all_speak(three.url, seconds=SOON)
    alone.bus.close()
    await talking.all_say(2, seconds=SOON)
    await three.until_known(1, alone)  # both sides have noticed
    await three.until_known(2, *three.nodes[1:])
    await talking.all_speak(three.url, seconds=SOON)
    await talking.all_say(2, seconds=SOON)
    alone.bus.cut()
    alone.bus.open()
    await three.until_known(3)
    await talking.all_say(1, seconds=SOON)
    talking.check()
    assert sum(each.cut for each in talking.talkers) == 0


async def test_a_split_and_a_node_that_is_killed(three: Fleet, talking: Crowd) -> None:
    """Devices of the killed node come to both sides of the split."""
    alone, killed = three.nodes[0], three.nodes[1]
    assert alone.bus is not None
    await talking.all_speak(three.url, seconds=SOON)
    alone.bus.close()
    await three.end(killed, signal.SIGKILL)
    await talking.all_say(2, seconds=SOON)
    alone.bus.cut()
    alone.bus.open()
    await three.start(killed)
    await three.until_known(3)
    await talking.all_say(1, seconds=SOON)
    talking.check(lost=1)


async def test_a_database_that_hangs(three: Fleet, talking: Crowd) -> None:
    assert three.database is not None
    await talking.all_speak(three.url, seconds=SOON)
    three.database.close()
    await talking.all_say(2, seconds=SOON)
    three.database.open()
    await talking.all_say(1, seconds=SOON)
    talking.check()


async def test_a_database_that_is_down(three: Fleet, talking: Crowd) -> None:
    """No node is ready then, and haproxy uses them all the same."""
    assert three.database is not None
    await talking.all_speak(three.url, seconds=SOON)
    three.database.down()
    await talking.all_say(2, seconds=SOON)
    async with asyncio.timeout(SOON):
        while await three.proxy.ready():  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.05)
    moved = talking.talkers[0]
    moved.leave()
    await talking.all_say(2, seconds=SOON)
    three.database.up()
    await talking.all_say(1, seconds=SOON)
    moved.lost.clear()  # a node that it came to cannot know its conversation before the database
    talking.check()

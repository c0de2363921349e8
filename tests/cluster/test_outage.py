"""Without a bus each node goes on by itself; with its return all is true again."""

from __future__ import annotations

import asyncio

from tests.support.clusters import BOUND, Holder
from tests.support.nats_nodes import JetStreamServer, nodes
from tests.support.waiting import until
from vixio.cluster.nats.cluster import NatsCluster
from vixio.cluster.nats.lease import NatsLease
from vixio.core.cluster import Lease
from vixio.core.commands import Command, CommandResult, CommandStatus, Say

ONE, TWO, THREE = (f"02:00:00:00:00:0{number}" for number in (1, 2, 3))


async def disconnected(*members: NatsCluster) -> None:
    await until(lambda: not any(member.connected for member in members))


async def connected(*members: NatsCluster) -> None:
    await until(lambda: all(member.connected for member in members))


def grown_old(lease: Lease) -> None:
    """Have a device be connected for a minute.

    Ages are compared, and what a question takes between two nodes counts for the one that asks: of
    two connections that differ by less, either may go on.
    """
    assert isinstance(lease, NatsLease)
    lease._since -= 60


async def cut_off(node: NatsCluster) -> None:
    """Have a node vanish, as a killed process does: it says nothing more."""
    await node._link.close()


async def test_conversations_go_on_and_new_devices_are_served(bus: JetStreamServer) -> None:
    async with nodes(bus.url, 2) as (one, two):
        holders = {device: Holder() for device in (ONE, TWO)}
        before = await one.leases.acquire(ONE, holders[ONE].on_lost)
        bus.kill()
        await disconnected(one, two)
        assert before.valid
        async with asyncio.timeout(BOUND):
            during = await two.leases.acquire(TWO, holders[TWO].on_lost)
        assert during.valid
        assert two.presence.where(TWO) == two.node
        bus.start()
        await connected(one, two)
        await until(lambda: one.presence.where(TWO) == two.node)
        await until(lambda: two.presence.where(ONE) == one.node)
        assert before.valid
        assert during.valid
        assert not [holder for holder in holders.values() if holder.lost]


async def test_commands_find_devices_that_came_meanwhile(bus: JetStreamServer) -> None:
    async def done(device_id: str, command: Command) -> CommandResult:
        return CommandResult(CommandStatus.DONE, device_id)

    async with nodes(bus.url, 2) as (one, two):
        two.commands.serve(done)
        bus.kill()
        await disconnected(one, two)
        await two.leases.acquire(ONE, Holder().on_lost)
        assert (await two.commands.send(ONE, Say("hello"))).ok
        failed = await one.commands.send(ONE, Say("hello"))
        assert failed.status is CommandStatus.FAILED
        assert "the other nodes cannot be reached" in failed.message
        bus.start()
        await connected(one, two)
        await until(lambda: one.presence.where(ONE) == two.node)
        assert (await one.commands.send(ONE, Say("hello"))).value == ONE


async def test_a_device_that_connects_anew_has_one_session(bus: JetStreamServer) -> None:
    """Its claim is from before, and no later one can be made."""
    async with nodes(bus.url, 2) as (one, two):
        older = Holder()
        left = await one.leases.acquire(ONE, older.on_lost)
        bus.kill()
        await disconnected(one, two)
        found = await one.leases.acquire(ONE, Holder().on_lost)
        assert [left.valid, found.valid] == [False, True]
        assert older.lost
        bus.start()
        await connected(one, two)
        await until(lambda: two.presence.where(ONE) == one.node)
        moved = await two.leases.acquire(ONE, Holder().on_lost)
        assert [found.valid, moved.valid] == [False, True]


async def test_what_was_said_meanwhile_goes_along(bus: JetStreamServer) -> None:
    async with nodes(bus.url, 2) as (one, two):
        lease = await one.leases.acquire(ONE, Holder().on_lost)
        lease.share_handover(lambda: "before")
        bus.kill()
        await disconnected(one, two)
        lease.share_handover(lambda: "before and meanwhile")
        await asyncio.sleep(0.2)  # it tries to share it
        bus.start()
        await connected(one, two)
        moved = await two.leases.acquire(ONE, Holder().on_lost)
        assert moved.handover == "before and meanwhile"


async def test_a_device_that_moved_meanwhile_stays_where_it_went(bus: JetStreamServer) -> None:
    """Neither node could know of the other: the younger connection goes on."""
    async with nodes(bus.url, 2) as (one, two):
        older, newer = Holder(), Holder()
        bus.kill()
        await disconnected(one, two)
        left = await one.leases.acquire(ONE, older.on_lost)
        grown_old(left)
        found = await two.leases.acquire(ONE, newer.on_lost)
        assert [left.valid, found.valid] == [True, True]
        bus.start()
        await connected(one, two)
        await until(lambda: older.lost)
        await until(lambda: one.presence.where(ONE) == two.node)
        assert [left.valid, found.valid] == [False, True]
        assert not newer.lost


async def test_a_device_that_moved_and_was_known_before(bus: JetStreamServer) -> None:
    """The claim from before the outage is that of the connection that the device has left."""
    async with nodes(bus.url, 2) as (one, two):
        older, newer = Holder(), Holder()
        grown_old(await one.leases.acquire(ONE, older.on_lost))
        bus.kill()
        await disconnected(one, two)
        found = await two.leases.acquire(ONE, newer.on_lost)
        bus.start()
        await connected(one, two)
        await until(lambda: older.lost)
        await until(lambda: one.presence.where(ONE) == two.node)
        assert found.valid
        assert not newer.lost


async def test_a_broker_that_has_lost_everything(bus: JetStreamServer) -> None:
    """The nodes claim anew what they have, and tokens go on rising."""
    async with nodes(bus.url, 2) as (one, two):
        leases: list[Lease] = [
            await one.leases.acquire(device, Holder().on_lost) for device in (ONE, TWO)
        ]
        tokens = [lease.token for lease in leases]
        bus.kill()
        await disconnected(one, two)
        bus.forget()
        bus.start()
        await connected(one, two)
        moved = await two.leases.acquire(ONE, Holder().on_lost)
        assert moved.token > max(tokens)
        await until(lambda: not leases[0].valid)
        assert leases[1].valid
        await until(lambda: two.presence.where(TWO) == one.node)


async def test_a_broker_that_stands_still_costs_a_bounded_wait(bus: JetStreamServer) -> None:
    async with nodes(bus.url, 2) as (one, two):
        holder = Holder()
        before = await one.leases.acquire(ONE, holder.on_lost)
        bus.stop()
        try:
            async with asyncio.timeout(BOUND):
                during = await two.leases.acquire(TWO, Holder().on_lost)
            assert during.valid
            assert before.valid
        finally:
            bus.go_on()
        await until(lambda: one.presence.where(TWO) == two.node, seconds=BOUND)
        assert not holder.lost


async def test_a_node_that_dies_is_forgotten_and_its_devices_are_nowhere(
    bus: JetStreamServer,
) -> None:
    async with nodes(bus.url, 2) as (one, two):
        await two.leases.acquire(ONE, Holder().on_lost)
        two.limits.set("connections", "10.0.0.1", 3)
        await until(lambda: one.limits.others("connections", "10.0.0.1") == 3)
        await cut_off(two)
        # A command asks the broker, which knows at once.
        result = await one.commands.send(ONE, Say("hello"))
        assert result.status is CommandStatus.NOT_CONNECTED
        await until(lambda: one.presence.where(ONE) == "")
        assert one.limits.others("connections", "10.0.0.1") == 0
        assert len(await one.presence.members()) == 1


async def test_news_that_is_too_large_takes_nothing_with_it(bus: JetStreamServer) -> None:
    heard: list[object] = []
    async with nodes(bus.url, 2) as (one, two):
        two.broadcast.on_message("test", heard.append)
        for body in ({"number": 1}, {"words": "x" * 2_000_000}, {"half": "\ud83d"}, {"number": 2}):
            one.broadcast.send("test", body)
        await until(lambda: len(heard) == 3)
        assert heard == [{"number": 1}, {"half": "\ufffd"}, {"number": 2}]

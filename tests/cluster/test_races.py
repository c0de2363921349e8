"""Connections of one device that begin at about the same time, in each order of their messages."""

from __future__ import annotations

import asyncio

import pytest

from tests.cluster.steps import Step, turns_of_the_loop
from tests.support.clusters import BOUND, Holder
from tests.support.nats_nodes import JetStreamServer, nodes
from tests.support.waiting import until
from vixio.cluster.nats.claims import Claim
from vixio.cluster.nats.cluster import NatsCluster
from vixio.cluster.nats.lease import NatsLease
from vixio.core.cluster import Lease, LeaseLost, LossReason

DEVICE = "02:00:00:00:00:01"

BETWEEN_S = 0.5
"""Between two connections, so that it is sure which one is the younger."""


class Looks:
    """The leases that a node is to look up; held back until :meth:`go_on`."""

    def __init__(self, node: NatsCluster, monkeypatch: pytest.MonkeyPatch) -> None:
        self._look = node.leases.look
        self.wanted: list[NatsLease] = []
        monkeypatch.setattr(node.leases, "look", self.wanted.append)

    def go_on(self) -> None:
        for lease in self.wanted:
            self._look(lease)


def acquiring(node: NatsCluster) -> asyncio.Task[Lease]:
    return asyncio.create_task(node.leases.acquire(DEVICE, Holder().on_lost))


async def younger_than_the_last_claim(
    one: NatsCluster, two: NatsCluster, holder: Holder, monkeypatch: pytest.MonkeyPatch
) -> Lease:
    """Have ``one`` serve a device, and an older connection claim it for ``two`` afterwards."""
    claiming = Step(two.leases._claims, "claim", monkeypatch)
    older = acquiring(two)
    await claiming.there.wait()
    await asyncio.sleep(BETWEEN_S)
    younger = await one.leases.acquire(DEVICE, holder.on_lost)
    claiming.go_on()
    with pytest.raises(LeaseLost):
        await older
    assert younger.valid
    return younger


async def last_claim(node: NatsCluster) -> Claim | None:
    return await node.leases._claims.last(DEVICE)


async def test_a_session_that_a_later_claim_gave_way_to_is_known_to_the_next_one(
    bus: JetStreamServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asyncio.timeout(BOUND), nodes(bus.url, 3) as (one, two, three):
        holder = Holder()
        looks = Looks(one, monkeypatch)
        younger = await younger_than_the_last_claim(one, two, holder, monkeypatch)
        third = await three.leases.acquire(DEVICE, Holder().on_lost)
        assert holder.lost == [LossReason.TAKEN]
        assert third.valid
        assert not younger.valid
        await until(lambda: looks.wanted, what="the wish to claim again")
        looks.go_on()
        await third.release()
        assert await last_claim(two) is None


async def test_it_has_claimed_again_soon(
    bus: JetStreamServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asyncio.timeout(BOUND), nodes(bus.url, 2) as (one, two):
        younger = await younger_than_the_last_claim(one, two, Holder(), monkeypatch)
        while (last := await last_claim(two)) is None or last.node != one.node:
            pass
        assert younger.token == last.token
        await younger.release()
        assert await last_claim(two) is None


async def test_nothing_is_left_of_one_that_ends_before(
    bus: JetStreamServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asyncio.timeout(BOUND), nodes(bus.url, 2) as (one, two):
        looks = Looks(one, monkeypatch)
        younger = await younger_than_the_last_claim(one, two, Holder(), monkeypatch)
        await until(lambda: looks.wanted, what="the wish to claim again")
        await younger.release()
        looks.go_on()
        while await last_claim(two) is not None:
            pass


async def test_two_that_meet_do_not_both_give_way(
    bus: JetStreamServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one is to be looked up while the other one's question is on its way, and takes long."""
    async with asyncio.timeout(BOUND), nodes(bus.url, 3) as (one, two, three):
        holder = Holder()
        third = Step(three.leases._claims, "claim", monkeypatch)
        question = Step(three.leases._rpc, "try_to_ask", monkeypatch)
        other = acquiring(three)
        await third.there.wait()
        looks = Looks(one, monkeypatch)
        younger = await younger_than_the_last_claim(one, two, holder, monkeypatch)
        third.go_on()
        await question.there.wait()
        await until(lambda: looks.wanted, what="the wish to claim again")
        looks.go_on()
        # It is decided when the look is over, or the question; the answers need not agree in time.
        await until(lambda: not one._revalidator._wanted, what="the look")
        await asyncio.sleep(2 * BETWEEN_S)
        question.go_on()
        (result,) = await asyncio.gather(other, return_exceptions=True)
        left = [younger.valid, isinstance(result, Lease) and result.valid]
        assert sorted(left) == [False, True]


async def test_a_claim_counts_from_when_it_is_confirmed(
    bus: JetStreamServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NATS has confirmed it; the node that claims next asks before that is read."""
    async with asyncio.timeout(BOUND), nodes(bus.url, 2) as (one, two):
        claims = one.leases._claims
        claim, asked, reading = claims.claim, asyncio.Event(), asyncio.Event()

        async def read_late(device_id: str, node: str) -> Claim:
            made = await claim(device_id, node)
            reading.set()
            await asked.wait()
            await asyncio.sleep(0)
            return made

        up_to = one.leases.up_to

        async def noted(device_id: str, token: int) -> list[NatsLease]:
            asked.set()
            return await up_to(device_id, token)

        monkeypatch.setattr(claims, "claim", read_late)
        monkeypatch.setattr(one.leases, "up_to", noted)
        first = acquiring(one)
        await reading.wait()
        second = await two.leases.acquire(DEVICE, Holder().on_lost)
        (result,) = await asyncio.gather(first, return_exceptions=True)
        assert second.valid
        assert isinstance(result, LeaseLost) or (isinstance(result, Lease) and not result.valid)


async def test_a_node_claims_a_device_once_at_a_time(
    bus: JetStreamServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where one connection waits for its turn when another one comes."""
    async with asyncio.timeout(BOUND), nodes(bus.url, 1) as (node,):
        claims = node.leases._claims
        claim = claims.claim
        begun: list[asyncio.Event] = []

        async def held(device_id: str, name: str) -> Claim:
            begun.append(asyncio.Event())
            await begun[-1].wait()
            return await claim(device_id, name)

        monkeypatch.setattr(claims, "claim", held)
        first = acquiring(node)
        await until(lambda: len(begun) == 1, what="the first claim")
        second = acquiring(node)
        await turns_of_the_loop()
        begun[0].set()
        await until(lambda: len(begun) == 2, what="the second claim")
        third = acquiring(node)
        await turns_of_the_loop()
        assert len(begun) == 2
        begun[1].set()
        await until(lambda: len(begun) == 3, what="the third claim")
        begun[2].set()
        results = await asyncio.gather(first, second, third, return_exceptions=True)
        assert [isinstance(each, Lease) and each.valid for each in results] == [False, False, True]

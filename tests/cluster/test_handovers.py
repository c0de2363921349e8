"""A conversation moves along while it is on its way to the bucket, which may take long or fail."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager

import pytest

from tests.cluster.steps import Step, turns_of_the_loop
from tests.support.clusters import BOUND, Holder
from tests.support.nats_nodes import JetStreamServer, nodes
from tests.support.waiting import until
from vixio.bus.errors import BrokerError
from vixio.cluster.nats.cluster import NatsCluster
from vixio.core.cluster import Lease, LossReason

DEVICE = "02:00:00:00:00:01"


def members(bus: JetStreamServer, count: int) -> AbstractAsyncContextManager[list[NatsCluster]]:
    """Return nodes that wait for each other: the machine may hold one up."""
    return nodes(bus.url, count, release_timeout=BOUND)


async def acquired(node: NatsCluster) -> Lease:
    return await node.leases.acquire(DEVICE, Holder().on_lost)


async def on_their_way(node: NatsCluster, words: str, monkeypatch: pytest.MonkeyPatch) -> Step:
    """Have the node that serves the device write words, which do not reach the bucket yet."""
    writing = Step(node._kept, "put", monkeypatch)
    lease = node.leases.current(DEVICE)
    assert lease is not None
    lease.share_handover(lambda: words)
    await writing.there.wait()
    return writing


async def test_they_move_along(bus: JetStreamServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not those before them, which the bucket has."""
    async with asyncio.timeout(BOUND), members(bus, 3) as (one, two, three):
        first = await acquired(one)
        first.share_handover(lambda: "one")
        await first.release()
        assert (await acquired(two)).handover == "one"
        await on_their_way(two, "one two", monkeypatch)
        assert (await acquired(three)).handover == "one two"


async def test_they_move_along_with_a_lease_that_is_being_given_back(
    bus: JetStreamServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asyncio.timeout(BOUND), members(bus, 2) as (one, two):
        lease = await acquired(one)
        writing = await on_their_way(one, "words", monkeypatch)
        releasing = asyncio.create_task(lease.release())
        assert (await acquired(two)).handover == "words"
        writing.go_on()
        await releasing


async def test_a_lease_is_given_back_after_they_are_there(
    bus: JetStreamServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asyncio.timeout(BOUND), members(bus, 2) as (one, two):
        lease = await acquired(one)
        writing = await on_their_way(one, "words", monkeypatch)
        releasing = asyncio.create_task(lease.release())
        removing = Step(one._devices, "remove", monkeypatch)
        removing.go_on()
        await turns_of_the_loop()
        assert not removing.there.is_set()
        writing.go_on()
        await releasing
        assert (await acquired(two)).handover == "words"


async def test_they_move_on_from_a_session_that_has_added_nothing(
    bus: JetStreamServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asyncio.timeout(BOUND), members(bus, 3) as (one, two, three):
        await acquired(one)
        await on_their_way(one, "words", monkeypatch)
        assert (await acquired(two)).handover == "words"
        assert (await acquired(three)).handover == "words"


async def test_they_move_on_from_the_next_connection_to_the_same_node(
    bus: JetStreamServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asyncio.timeout(BOUND), members(bus, 2) as (one, two):
        await acquired(one)
        await on_their_way(one, "words", monkeypatch)
        assert (await acquired(one)).handover == ""  # which has them
        assert (await acquired(two)).handover == "words"


async def test_a_holder_that_gives_up_leaves_them(
    bus: JetStreamServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no session of its own: later it does not have them itself."""
    async with asyncio.timeout(BOUND), members(bus, 2) as (one, two):
        await acquired(one)
        await on_their_way(one, "words", monkeypatch)
        settling = Step(two.leases._claims, "settle", monkeypatch)
        given_up = asyncio.create_task(acquired(two))
        await settling.there.wait()
        given_up.cancel()
        settling.go_on()
        with pytest.raises(asyncio.CancelledError):
            await given_up
        assert (await acquired(two)).handover == "words"


async def test_what_a_slow_holder_says_late_replaces_nothing(
    bus: JetStreamServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asyncio.timeout(BOUND), members(bus, 3) as (one, two, three):
        await acquired(one)
        late = await on_their_way(one, "one", monkeypatch)
        newer = await acquired(two)
        newer.share_handover(lambda: "one two")
        await newer.release()
        late.go_on()
        await until(lambda: one.counters.get("cluster.claims.fenced"), what="the late words")
        assert (await acquired(three)).handover == "one two"


async def test_an_older_text_that_fails_is_not_kept_in_place_of_a_newer_one(
    bus: JetStreamServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asyncio.timeout(BOUND), members(bus, 2) as (one, two):
        put, begun, fails = one._kept.put, asyncio.Event(), asyncio.Event()

        async def first(key: str, value: bytes, revision: int) -> int:
            monkeypatch.setattr(one._kept, "put", put)
            begun.set()
            await fails.wait()
            raise BrokerError("of the test")

        monkeypatch.setattr(one._kept, "put", first)
        lease = await acquired(one)
        lease.share_handover(lambda: "one")
        await begun.wait()
        lease.share_handover(lambda: "one two")
        current = one.leases.current(DEVICE)
        assert current is not None
        current.flush()
        await turns_of_the_loop()
        fails.set()
        await turns_of_the_loop()
        assert (await acquired(two)).handover == "one two"


async def test_a_node_goes_on_with_what_it_has_if_nothing_was_said_elsewhere(
    bus: JetStreamServer,
) -> None:
    """Its session has not ended when the device comes back."""
    hangs = asyncio.Event()

    async def on_lost(reason: LossReason) -> None:
        await hangs.wait()

    async with (
        asyncio.timeout(BOUND),
        nodes(bus.url, 3, release_timeout=0.05) as (one, two, three),
    ):
        older = await acquired(three)
        older.share_handover(lambda: "one")
        await older.release()
        assert (await one.leases.acquire(DEVICE, on_lost)).handover == "one"
        assert (await acquired(two)).handover == "one"
        assert (await acquired(one)).handover == ""
        hangs.set()


async def test_of_two_sessions_of_a_node_the_last_one_hands_over(
    bus: JetStreamServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one before it has not ended when the device moves on."""
    hangs = asyncio.Event()

    async def before(reason: LossReason) -> None:
        await hangs.wait()

    async def last(reason: LossReason) -> None:
        hangs.set()

    async with asyncio.timeout(BOUND), members(bus, 2) as (one, two):
        monkeypatch.setattr(one.leases, "release_timeout", 0.05)
        await one.leases.acquire(DEVICE, before)
        await on_their_way(one, "one", monkeypatch)
        await one.leases.acquire(DEVICE, last)
        monkeypatch.setattr(one.leases, "release_timeout", BOUND)
        await on_their_way(one, "one two", monkeypatch)
        assert (await acquired(two)).handover == "one two"


async def test_words_that_look_older_than_they_are_move_along(
    bus: JetStreamServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a node that served the device without a bus, and has not claimed it yet."""
    async with asyncio.timeout(BOUND), members(bus, 3) as (one, two, three):
        before = await acquired(one)
        before.share_handover(lambda: "one")
        await before.release()
        claiming = Step(two.leases._claims, "follow", monkeypatch)
        monkeypatch.setattr("vixio.cluster.nats.leases.CLAIM_S", 0.05)
        lease = await acquired(two)
        assert lease.handover == ""
        lease.share_handover(lambda: "two")
        await until(
            lambda: two.counters.get("cluster.claims.fenced"), what="words that are refused"
        )
        claiming.go_on()
        await until(lambda: lease.token > before.token, what="the claim")
        assert (await acquired(three)).handover == "two"

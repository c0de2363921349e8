"""Every implementation of the cluster keeps this contract, between its processes and in one.

Each test has two members: processes that serve the same devices, or one process twice.
"""

from __future__ import annotations

import asyncio

from tests.support.cluster_members import DEVICE, Members
from tests.support.clusters import BOUND, Holder
from tests.support.waiting import until
from vixio.core.cluster import Lease, LeaseLost, LossReason


async def test_a_device_without_a_lease_is_nowhere(members: Members) -> None:
    one, two = members
    assert one.presence.where(DEVICE) == two.presence.where(DEVICE) == ""
    assert not one.presence.elsewhere(DEVICE)


async def test_presence_is_known_in_every_process(members: Members) -> None:
    one, two = members
    lease = await one.leases.acquire(DEVICE, Holder().on_lost)
    valid = [lease.valid]
    assert lease.device_id == DEVICE
    here = one.presence.where(DEVICE)
    assert here
    assert not one.presence.elsewhere(DEVICE)
    await until(lambda: two.presence.where(DEVICE) == here)
    assert two.presence.elsewhere(DEVICE) == (one is not two)
    await lease.release()
    assert [*valid, lease.valid] == [True, False]
    assert one.presence.where(DEVICE) == ""
    await until(lambda: two.presence.where(DEVICE) == "")


async def test_what_is_looked_up_is_true_at_once(members: Members) -> None:
    one, two = members
    assert not await two.presence.look_elsewhere(DEVICE)
    lease = await one.leases.acquire(DEVICE, Holder().on_lost)
    found = await two.presence.look_elsewhere(DEVICE)
    assert found == (one is not two)
    assert not await one.presence.look_elsewhere(DEVICE)
    await lease.release()
    await until(lambda: two.presence.where(DEVICE) == "")
    assert not await two.presence.look_elsewhere(DEVICE)


async def test_the_newer_connection_has_the_greater_token(members: Members) -> None:
    tokens = []
    for member in (*members, *members):
        lease = await member.leases.acquire(DEVICE, Holder().on_lost)
        tokens.append(lease.token)
    assert tokens == sorted(set(tokens))
    assert tokens[0] > 0


async def test_tokens_rise_after_a_release_too(members: Members) -> None:
    one, two = members
    first = await one.leases.acquire(DEVICE, Holder().on_lost)
    await first.release()
    second = await two.leases.acquire(DEVICE, Holder().on_lost)
    assert second.token > first.token


async def test_the_older_session_is_over_before_the_newer_one_begins(members: Members) -> None:
    one, two = members
    order: list[str] = []

    async def on_lost(reason: LossReason) -> None:
        assert reason is LossReason.TAKEN
        assert not older.valid
        order.append("ends")
        await asyncio.sleep(0)
        order.append("is over")

    older = await one.leases.acquire(DEVICE, on_lost)
    newer = await two.leases.acquire(DEVICE, Holder().on_lost)
    order.append("begins")
    assert order == ["ends", "is over", "begins"]
    assert newer.valid
    assert not older.valid
    await older.release()
    assert newer.valid, "a late release takes nothing from the newer lease"
    assert two.presence.where(DEVICE)


async def test_the_conversation_reaches_the_next_holder(members: Members) -> None:
    one, two = members
    said = ["first words"]

    async def on_lost(reason: LossReason) -> None:
        said.append("last words")  # an interrupted reply is written down while its session ends
        older.share_handover(lambda: "\n".join(said))

    older = await one.leases.acquire(DEVICE, on_lost)
    older.share_handover(lambda: "\n".join(said))
    newer = await two.leases.acquire(DEVICE, Holder().on_lost)
    assert newer.handover == ("" if one is two else "first words\nlast words")


async def test_the_conversation_stays_after_a_release(members: Members) -> None:
    one, two = members
    older = await one.leases.acquire(DEVICE, Holder().on_lost)
    older.share_handover(lambda: "words")
    await older.release()
    newer = await two.leases.acquire(DEVICE, Holder().on_lost)
    assert newer.handover == "words" or one is two


async def test_the_conversation_reaches_a_process_to_which_the_device_connects_twice(
    members: Members,
) -> None:
    """The second time before the first one is granted, as a rule."""
    one, two = members
    ending, over = asyncio.Event(), asyncio.Event()

    async def on_lost(reason: LossReason) -> None:
        ending.set()
        await over.wait()

    older = await one.leases.acquire(DEVICE, on_lost)
    older.share_handover(lambda: "words")
    first = asyncio.create_task(two.leases.acquire(DEVICE, Holder().on_lost))
    await ending.wait()
    second = asyncio.create_task(two.leases.acquire(DEVICE, Holder().on_lost))
    await asyncio.sleep(0)
    over.set()
    ends = await asyncio.gather(first, second, return_exceptions=True)
    handed = [end.handover for end in ends if isinstance(end, Lease)]
    assert handed
    assert ("words" in handed) == (one is not two)


async def test_what_was_said_elsewhere_reaches_a_process_whose_session_has_not_ended(
    members: Members,
) -> None:
    one, two = members
    hangs = asyncio.Event()

    async def on_lost(reason: LossReason) -> None:
        await hangs.wait()

    older = await one.leases.acquire(DEVICE, on_lost)
    older.share_handover(lambda: "first")
    newer = await two.leases.acquire(DEVICE, Holder().on_lost)
    newer.share_handover(lambda: "first second")
    again = await one.leases.acquire(DEVICE, Holder().on_lost)
    assert again.handover == ("" if one is two else "first second")
    hangs.set()


async def test_a_session_that_does_not_end_costs_a_bounded_wait(members: Members) -> None:
    one, two = members
    hangs = asyncio.Event()
    lost: list[LossReason] = []

    async def on_lost(reason: LossReason) -> None:
        lost.append(reason)
        await hangs.wait()

    older = await one.leases.acquire(DEVICE, on_lost)
    async with asyncio.timeout(BOUND):
        newer = await two.leases.acquire(DEVICE, Holder().on_lost)
    assert newer.valid
    assert not older.valid
    assert lost == [LossReason.TAKEN]
    hangs.set()


async def test_a_session_that_fails_to_end_costs_nothing(members: Members) -> None:
    one, two = members

    async def on_lost(reason: LossReason) -> None:
        raise RuntimeError("a defect")

    await one.leases.acquire(DEVICE, on_lost)
    assert (await two.leases.acquire(DEVICE, Holder().on_lost)).valid


async def test_a_released_lease_is_not_lost(members: Members) -> None:
    one, two = members
    holder = Holder()
    lease = await one.leases.acquire(DEVICE, holder.on_lost)
    await lease.release()
    await lease.release()
    newer = await two.leases.acquire(DEVICE, Holder().on_lost)
    assert newer.valid
    assert holder.lost == []


async def test_of_racing_connections_one_goes_on(members: Members) -> None:
    one, two = members
    slow = asyncio.Event()

    async def on_lost(reason: LossReason) -> None:
        await slow.wait()

    first = await one.leases.acquire(DEVICE, on_lost)
    holders = [Holder() for _ in range(6)]
    racing = [
        asyncio.create_task(member.leases.acquire(DEVICE, holder.on_lost))
        for member, holder in zip((one, two) * 3, holders, strict=True)
    ]
    await asyncio.sleep(0)
    slow.set()
    async with asyncio.timeout(BOUND):
        ends = await asyncio.gather(*racing, return_exceptions=True)
    granted = [end for end in ends if isinstance(end, Lease)]
    assert all(isinstance(end, Lease | LeaseLost) for end in ends)
    (valid,) = (lease for lease in granted if lease.valid)
    assert valid.token == max(lease.token for lease in (*granted, first))
    told = [holder for holder in holders if holder.lost]
    assert len(told) == len(granted) - 1, "each granted lease but the last was reported lost"


async def test_an_acquisition_that_is_given_up_leaves_nothing(members: Members) -> None:
    one, two = members
    hangs = asyncio.Event()

    async def on_lost(reason: LossReason) -> None:
        await hangs.wait()

    await one.leases.acquire(DEVICE, on_lost)
    given_up = asyncio.create_task(two.leases.acquire(DEVICE, Holder().on_lost))
    await asyncio.sleep(0)
    given_up.cancel()
    await asyncio.wait({given_up})
    assert given_up.cancelled()
    hangs.set()
    await until(lambda: one.presence.where(DEVICE) == two.presence.where(DEVICE) == "")


async def test_devices_do_not_touch_each_other(members: Members) -> None:
    one, two = members
    holder = Holder()
    lease = await one.leases.acquire(DEVICE, holder.on_lost)
    await two.leases.acquire("02:00:00:00:00:02", Holder().on_lost)
    assert lease.valid
    assert holder.lost == []


async def test_own_counts_are_not_the_others(members: Members) -> None:
    one, two = members
    one.limits.set("connections", "10.0.0.1", 3)
    two.limits.set("connections", "10.0.0.2", 1)
    if one is not two:
        await until(lambda: two.limits.others("connections", "10.0.0.1") == 3)
    assert one.limits.others("connections", "10.0.0.1") == 0
    assert one.limits.others("connections", "never counted") == 0
    one.limits.set("connections", "10.0.0.1", 0)
    await until(lambda: two.limits.others("connections", "10.0.0.1") == 0)


async def test_own_charges_do_not_come_back(members: Members) -> None:
    one, two = members
    charged: list[tuple[str, int]] = []
    one.limits.on_charge("connects", lambda key, amount: charged.append((key, amount)))
    one.limits.charge("connects", "10.0.0.1")
    if one is not two:
        two.limits.charge("connects", "10.0.0.2", 32)
        await until(lambda: charged)
        assert charged == [("10.0.0.2", 32)]
    else:
        assert charged == []


async def test_every_member_reports_its_status(members: Members) -> None:
    one, two = members
    one.presence.publish(lambda: {"sessions": 1})
    two.presence.publish(lambda: {"sessions": 2})
    found = [each.get("sessions") for each in await one.presence.members()]
    assert 2 in found
    assert one is two or 1 in found


async def test_a_status_is_reported_by_topic(members: Members) -> None:
    one, two = members
    for member in (one, two):
        member.presence.publish(lambda: {"sessions": 1})
        member.presence.publish(lambda: {"text": "m 1"}, topic="metrics")
    found = await one.presence.members("metrics")
    assert {each["text"] for each in found if "text" in each} == {"m 1"}
    assert not any("sessions" in each for each in found)
    assert not any("sessions" in each for each in await one.presence.members("unknown"))


async def test_a_broadcast_reaches_the_others_alone_and_in_order(members: Members) -> None:
    one, two = members
    received: dict[int, list[object]] = {1: [], 2: []}
    one.broadcast.on_message("news", lambda body: received[1].append(body["number"]))
    if one is not two:
        two.broadcast.on_message("news", lambda body: received[2].append(body["number"]))
    for number in range(100):
        one.broadcast.send("news", {"number": number})
        one.broadcast.send("nobody listens", {})
    two.broadcast.send("news", {"number": -1})
    if one is two:
        await one.presence.members()  # whatever was sent has come by then
        assert received == {1: [], 2: []}
    else:
        await until(lambda: len(received[2]) == 100 and received[1])
        assert received == {1: [-1], 2: list(range(100))}

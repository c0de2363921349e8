"""Every implementation of the cluster keeps this contract, between its processes and in one.

Each test has two members: processes that serve the same devices, or one process twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from tests.support.clusters import BOUND, Holder, until, workers
from vixio.cluster.workers.coordinator import Coordinator
from vixio.core.cluster import Cluster, Lease, LeaseLost, LossReason
from vixio.core.commands import (
    MAX_BYTES,
    Ask,
    Close,
    Command,
    CommandResult,
    CommandStatus,
    Custom,
    Interrupt,
    Reconfigure,
    Say,
)
from vixio.core.errors import ConnectionClosed
from vixio.core.local_cluster import LocalCluster
from vixio.core.session.speech import Priority

DEVICE = "02:00:00:00:00:01"
SHORT_S = 0.05

Members = tuple[Cluster, Cluster]


@asynccontextmanager
async def local() -> AsyncIterator[Members]:
    cluster = LocalCluster(release_timeout=SHORT_S)
    yield cluster, cluster


@asynccontextmanager
async def two_workers() -> AsyncIterator[Members]:
    async with workers(2, Coordinator(release_timeout=SHORT_S)) as (one, two):
        yield one, two


@asynccontextmanager
async def same_worker() -> AsyncIterator[Members]:
    async with workers(2, Coordinator(release_timeout=SHORT_S)) as (one, _):
        yield one, one


CLUSTERS: dict[str, Callable[[], AbstractAsyncContextManager[Members]]] = {
    "local": local,
    "two workers": two_workers,
    "one of two workers": same_worker,
}


@pytest.fixture(params=sorted(CLUSTERS))
async def members(request: pytest.FixtureRequest) -> AsyncIterator[Members]:
    async with CLUSTERS[request.param]() as made:
        yield made


async def test_a_device_without_a_lease_is_nowhere(members: Members) -> None:
    one, two = members
    assert one.presence.where(DEVICE) == two.presence.where(DEVICE) == ""
    assert not one.presence.elsewhere(DEVICE)


async def test_every_member_knows_where_a_device_is(members: Members) -> None:
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


# ── commands ─────────────────────────────────────────────────────────────────────────────────


DONE = CommandResult(CommandStatus.DONE)


class Sessions:
    """A process's command handler: notes commands, and answers with ``result``."""

    def __init__(self, result: CommandResult = DONE) -> None:
        self.result = result
        self.received: list[tuple[str, Command]] = []
        self.hangs: asyncio.Event | None = None
        self.error: Exception | None = None

    async def __call__(self, device_id: str, command: Command) -> CommandResult:
        self.received.append((device_id, command))
        if self.hangs is not None:
            await self.hangs.wait()
        if self.error is not None:
            raise self.error
        return self.result


COMMANDS: list[Command] = [
    Say("Dinner is ready.", Priority.HIGH, interruptible=False, wait=True),
    Ask("Which day is it?"),
    Interrupt("because"),
    Reconfigure({"language": "de"}),
    Close("enough"),
    Custom("blink", {"times": 3, "colours": ["red", "蓝"]}),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: type(command).__name__)
async def test_a_command_reaches_the_process_of_the_device(
    members: Members, command: Command
) -> None:
    one, two = members
    sessions = Sessions(CommandResult(CommandStatus.DONE, {"heard": "Dinner"}, "fine"))
    two.commands.serve(Sessions(CommandResult(CommandStatus.FAILED)))
    one.commands.serve(sessions)
    await one.leases.acquire(DEVICE, Holder().on_lost)
    for member in members:
        assert await member.commands.send(DEVICE, command) == sessions.result
    assert sessions.received == [(DEVICE, command)] * 2


async def test_a_device_that_is_not_connected_is_an_answer_at_once(members: Members) -> None:
    one, two = members
    sessions = Sessions()
    one.commands.serve(sessions)
    two.commands.serve(sessions)
    async with asyncio.timeout(BOUND):
        result = await two.commands.send(DEVICE, Say("hello"), timeout=10 * BOUND)
    assert result == CommandResult(CommandStatus.NOT_CONNECTED)
    lease = await one.leases.acquire(DEVICE, Holder().on_lost)
    await lease.release()
    async with asyncio.timeout(BOUND):
        assert (await one.commands.send(DEVICE, Say("hello"), timeout=10 * BOUND)) == result
    assert not sessions.received


async def test_a_process_without_a_handler_serves_no_commands(members: Members) -> None:
    one, two = members
    await one.leases.acquire(DEVICE, Holder().on_lost)
    result = await two.commands.send(DEVICE, Say("hello"))
    assert result.status is CommandStatus.NOT_CONNECTED


async def test_a_command_without_an_answer_is_a_bounded_wait(members: Members) -> None:
    one, two = members
    sessions = Sessions()
    sessions.hangs = asyncio.Event()
    one.commands.serve(sessions)
    await one.leases.acquire(DEVICE, Holder().on_lost)
    async with asyncio.timeout(BOUND):
        result = await two.commands.send(DEVICE, Say("hello"), timeout=SHORT_S)
    assert result.status is CommandStatus.TIMED_OUT
    sessions.hangs.set()
    assert (await two.commands.send(DEVICE, Say("hello"))).ok


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("no such lamp"), "no such lamp"),
        (ConnectionClosed("the device is gone"), "the device is gone"),
        (RuntimeError("a secret of somebody"), "internal error"),
    ],
)
async def test_a_command_that_fails_says_why(
    members: Members, error: Exception, message: str
) -> None:
    one, two = members
    sessions = Sessions()
    sessions.error = error
    one.commands.serve(sessions)
    await one.leases.acquire(DEVICE, Holder().on_lost)
    result = await two.commands.send(DEVICE, Custom("blink"))
    assert result == CommandResult(CommandStatus.FAILED, message=message)


@pytest.mark.parametrize("value", [object(), "x" * (MAX_BYTES + 1)], ids=["no JSON", "too large"])
async def test_a_result_that_cannot_travel_is_a_failure(members: Members, value: object) -> None:
    one, two = members
    one.commands.serve(Sessions(CommandResult(CommandStatus.DONE, value)))
    await one.leases.acquire(DEVICE, Holder().on_lost)
    result = await two.commands.send(DEVICE, Custom("blink"))
    assert result.status is CommandStatus.FAILED
    assert "the result" in result.message


async def test_a_command_that_cannot_travel_is_refused(members: Members) -> None:
    one, two = members
    one.commands.serve(Sessions())
    await one.leases.acquire(DEVICE, Holder().on_lost)
    with pytest.raises(ValueError, match="262144 at most"):
        await two.commands.send(DEVICE, Custom("blink", {"colour": "x" * MAX_BYTES}))


async def test_commands_go_to_the_newer_holder(members: Members) -> None:
    one, two = members
    handlers = {one: Sessions(), two: Sessions()}
    for member, sessions in handlers.items():
        member.commands.serve(sessions)
    await one.leases.acquire(DEVICE, Holder().on_lost)
    await two.leases.acquire(DEVICE, Holder().on_lost)
    for member in members:
        assert (await member.commands.send(DEVICE, Interrupt())).ok
    assert len(handlers[two].received) == 2
    assert one is two or not handlers[one].received


async def test_a_command_to_a_device_that_moves_waits_for_its_new_holder(
    members: Members,
) -> None:
    one, two = members
    handlers = {one: Sessions(), two: Sessions()}
    for member, sessions in handlers.items():
        member.commands.serve(sessions)
    ends = asyncio.Event()
    sent: list[asyncio.Task[CommandResult]] = []

    async def on_lost(reason: LossReason) -> None:
        sent.extend(
            asyncio.create_task(member.commands.send(DEVICE, Interrupt())) for member in members
        )
        ends.set()
        await asyncio.sleep(0)

    await one.leases.acquire(DEVICE, on_lost)
    await two.leases.acquire(DEVICE, Holder().on_lost)
    await ends.wait()
    assert all(result.ok for result in await asyncio.gather(*sent))
    assert len(handlers[two].received) == 2

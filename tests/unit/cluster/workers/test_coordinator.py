"""What the coordinator and its workers do beyond the contract, over real socket pairs."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.clusters import BOUND, Holder, machine, workers
from tests.support.waiting import until
from vixio.cluster.workers import leases as leases_module
from vixio.cluster.workers.lease_table import LEASE_S
from vixio.cluster.workers.messages import Kind
from vixio.cluster.workers.router import ENDED
from vixio.core.cluster import ClusterUnavailable, LossReason
from vixio.core.commands import Command, CommandResult, CommandStatus, Interrupt, encode

DEVICE = "02:00:00:00:00:01"


async def test_counts_reach_the_others_and_only_them() -> None:
    async with workers(3) as (one, two, three):
        one.limits.set("sockets", "", 5)
        two.limits.set("sockets", "", 2)
        await until(lambda: three.limits.others("sockets") == 7)
        await until(lambda: one.limits.others("sockets") == 2)
        assert two.limits.others("sockets") == 5
        one.limits.set("sockets", "", 0)
        await until(lambda: three.limits.others("sockets") == 2)


async def test_a_late_worker_learns_what_there_is() -> None:
    async with machine() as made:
        first = await made.join()
        first.cluster.limits.set("addresses", "10.0.0.1", 4)
        await first.cluster.leases.acquire(DEVICE, Holder().on_lost)
        second = (await made.join()).cluster
        await until(lambda: second.limits.others("addresses", "10.0.0.1") == 4)
        await until(lambda: second.presence.where(DEVICE) == "1")
        await first.die()
        await until(lambda: second.limits.others("addresses", "10.0.0.1") == 0)


async def test_charges_reach_the_listener_of_their_name() -> None:
    async with workers(2) as (one, two):
        charged: list[tuple[str, int]] = []
        two.limits.on_charge("connects", lambda key, amount: charged.append((key, amount)))
        one.limits.charge("connects", "10.0.0.1")
        one.limits.charge("unknown there", "10.0.0.1")
        one.limits.charge("connects", "10.0.0.1", 32)
        await until(lambda: len(charged) == 2)
        assert charged == [("10.0.0.1", 1), ("10.0.0.1", 32)]


async def test_a_conversation_that_changes_often_is_sent_once() -> None:
    async with workers(2) as (one, two):
        dumps = 0

        def dump() -> str:
            nonlocal dumps
            dumps += 1
            return "text"

        lease = await one.leases.acquire(DEVICE, Holder().on_lost)
        for _ in range(50):
            lease.share_handover(dump)
        assert dumps == 0
        await until(lambda: dumps)
        assert dumps == 1
        assert (await two.leases.acquire(DEVICE, Holder().on_lost)).handover == "text"


async def test_the_devices_of_a_dead_worker_are_free() -> None:
    async with machine() as made:
        first, second = await made.join(), await made.join()
        lease = await first.cluster.leases.acquire(DEVICE, Holder().on_lost)
        sent = asyncio.Event()

        def dump() -> str:
            sent.set()
            return "kept"

        lease.share_handover(dump)
        await sent.wait()
        await until(lambda: second.cluster.presence.where(DEVICE) == "1")
        await first.die()
        await until(lambda: not second.cluster.presence.elsewhere(DEVICE))
        again = await second.cluster.leases.acquire(DEVICE, Holder().on_lost)
        assert again.handover == "kept"
        assert again.token > lease.token


async def test_an_unresponsive_worker_loses_its_leases_and_learns_of_it() -> None:
    async with machine() as made:
        first, second = await made.join(), await made.join()
        holder = Holder()
        lease = await first.cluster.leases.acquire(DEVICE, holder.on_lost)
        await until(lambda: second.cluster.presence.where(DEVICE) == "1")
        made.coordinator.expire(1)
        await until(lambda: holder.lost == [LossReason.EXPIRED])
        assert not lease.valid
        await until(lambda: not second.cluster.presence.elsewhere(DEVICE))
        again = await second.cluster.leases.acquire(DEVICE, Holder().on_lost)
        assert again.token > lease.token
        assert (await first.cluster.leases.acquire(DEVICE, Holder().on_lost)).valid
        await first.die()


async def test_a_worker_that_was_unresponsive_gives_its_leases_up_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    time = 1000.0
    monkeypatch.setattr(leases_module, "monotonic", lambda: time)
    monkeypatch.setattr(leases_module, "RENEW_S", 0.001)
    async with workers(2) as (one, two):
        holder = Holder()
        lease = await one.leases.acquire(DEVICE, holder.on_lost)
        time += LEASE_S - 1
        valid = [lease.valid]
        time += 2
        valid.append(lease.valid)  # at once, before anything else has run
        assert valid == [True, False]
        await until(lambda: holder.lost)
        assert holder.lost == [LossReason.EXPIRED]
        await lease.release()
        assert (await two.leases.acquire(DEVICE, Holder().on_lost)).valid


async def test_leases_that_a_suspended_machine_gave_up_are_free_everywhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A suspended coordinator has missed no renewal, so it does not expire them itself."""
    time = 1000.0
    monkeypatch.setattr(leases_module, "monotonic", lambda: time)
    monkeypatch.setattr(leases_module, "RENEW_S", 0.001)
    async with workers(2) as (one, two):
        holder = Holder()
        lease = await one.leases.acquire(DEVICE, holder.on_lost)
        await until(lambda: two.presence.elsewhere(DEVICE))
        lease.share_handover(lambda: "kept")
        time += LEASE_S + 1
        await until(lambda: not two.presence.elsewhere(DEVICE))
        assert holder.lost == [LossReason.EXPIRED]
        assert (await two.commands.send(DEVICE, Interrupt())).status is CommandStatus.NOT_CONNECTED
        assert (await two.leases.acquire(DEVICE, Holder().on_lost)).handover == "kept"


async def test_an_older_holder_cannot_overwrite_the_conversation() -> None:
    async with machine() as made:
        first, second = await made.join(), await made.join()
        older = await first.cluster.leases.acquire(DEVICE, Holder().on_lost)
        newer = await second.cluster.leases.acquire(DEVICE, Holder().on_lost)
        first.ours.send(Kind.HANDOVER, device=DEVICE, token=older.token, text="late")
        await first.cluster.presence.members()  # it is handled now
        newer.share_handover(lambda: "new")
        await newer.release()
        first.ours.send(Kind.HANDOVER, device=DEVICE, token=older.token, text="later still")
        again = await first.cluster.leases.acquire(DEVICE, Holder().on_lost)
        assert again.handover == "new"
        await first.die()


async def test_an_older_holder_hands_nothing_over_while_there_is_a_newer_one() -> None:
    async with machine() as made:
        first, second = await made.join(), await made.join()
        older = await first.cluster.leases.acquire(DEVICE, Holder().on_lost)
        newer = await second.cluster.leases.acquire(DEVICE, Holder().on_lost)
        first.ours.send(Kind.HANDOVER, device=DEVICE, token=older.token, text="late")
        await first.cluster.presence.members()  # it is handled now
        await newer.release()
        again = await first.cluster.leases.acquire(DEVICE, Holder().on_lost)
        assert again.handover == ""


async def test_a_command_for_an_older_lease_is_not_carried_out() -> None:
    async with machine() as made:
        worker = await made.join()
        received: list[Command] = []

        async def handler(device_id: str, command: Command) -> CommandResult:
            received.append(command)
            return CommandResult(CommandStatus.DONE)

        worker.cluster.commands.serve(handler)
        older = await worker.cluster.leases.acquire(DEVICE, Holder().on_lost)
        newer = await worker.cluster.leases.acquire(DEVICE, Holder().on_lost)
        for token, status in ((older.token, "not_connected"), (newer.token, "done")):
            answer = await worker.theirs.request(
                Kind.COMMAND,
                BOUND,
                device=DEVICE,
                token=token,
                command=encode(Interrupt()),
                timeout=BOUND,
            )
            assert answer["status"] == status
        assert len(received) == 1


async def test_a_command_that_a_worker_began_before_it_died_may_have_taken_effect() -> None:
    async with machine() as made:
        first, second, third = [await made.join() for _ in range(3)]
        begun: list[str] = []
        dying = asyncio.Event()

        async def hang(device_id: str, command: Command) -> CommandResult:
            begun.append("first")
            dying.set()
            await asyncio.Event().wait()
            raise AssertionError

        async def answer(device_id: str, command: Command) -> CommandResult:
            begun.append("second")
            return CommandResult(CommandStatus.DONE)

        first.cluster.commands.serve(hang)
        second.cluster.commands.serve(answer)
        await first.cluster.leases.acquire(DEVICE, Holder().on_lost)
        sent = asyncio.create_task(
            third.cluster.commands.send(DEVICE, Interrupt(), timeout=10 * BOUND)
        )
        await dying.wait()
        await second.cluster.leases.acquire(DEVICE, Holder().on_lost)
        await first.die()
        async with asyncio.timeout(BOUND):
            result = await sent
        assert (result.status, result.message) == (CommandStatus.TIMED_OUT, ENDED)
        assert begun == ["first"], "the device's next holder does not carry it out once more"


async def test_a_command_to_a_worker_that_has_died_is_not_carried_out() -> None:
    async with machine() as made:
        first, second = await made.join(), await made.join()
        await first.cluster.leases.acquire(DEVICE, Holder().on_lost)
        await first.die()
        async with asyncio.timeout(BOUND):
            result = await second.cluster.commands.send(DEVICE, Interrupt(), timeout=10 * BOUND)
        assert result == CommandResult(CommandStatus.NOT_CONNECTED)


async def test_nothing_is_granted_without_a_coordinator() -> None:
    async with machine() as made:
        worker = await made.join()
        leases = worker.cluster.leases
        waiting = asyncio.create_task(leases.acquire(DEVICE, Holder().on_lost))
        await worker.die()
        async with asyncio.timeout(BOUND):
            await asyncio.wait({waiting})
            with pytest.raises(ClusterUnavailable):
                await leases.acquire(DEVICE, Holder().on_lost)
        (status,) = await worker.cluster.presence.members()
        assert status["worker"] == 1


async def test_a_silent_coordinator_costs_a_bounded_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases_module, "ACQUIRE_S", 0.05)
    async with machine() as made:
        worker = await made.join()
        monkeypatch.setattr(made.coordinator, "_handle", lambda *message: None)
        async with asyncio.timeout(BOUND):
            with pytest.raises(ClusterUnavailable):
                await worker.cluster.leases.acquire(DEVICE, Holder().on_lost)
        await worker.die()


async def test_every_worker_is_asked_for_its_status() -> None:
    async with workers(3) as clusters:
        found = await clusters[1].presence.members()
        assert sorted(each["worker"] for each in found) == [1, 2, 3]


async def test_a_malformed_message_ends_the_worker_that_sent_it() -> None:
    async with machine() as made:
        good, bad = await made.join(), await made.join()
        bad.cluster.limits.set("sockets", "", 3)
        await until(lambda: good.cluster.limits.others("sockets") == 3)
        bad.ours.send(Kind.GAUGE, name="sockets", key="", count="many")
        await bad.ended()
        await until(lambda: good.cluster.limits.others("sockets") == 0)
        assert (await good.cluster.leases.acquire(DEVICE, Holder().on_lost)).valid

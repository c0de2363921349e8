"""The coordinator and its links over real socket pairs."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from vixio.cluster.workers import cluster as link_module
from vixio.cluster.workers.channel import MAX_LINE, Channel
from vixio.cluster.workers.cluster import WorkerCluster
from vixio.cluster.workers.coordinator import Coordinator
from vixio.core.cluster import DEVICES, SOCKETS

BOUND = 10.0


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(BOUND):
        while not true():  # noqa: ASYNC110 - it happens behind two sockets, bounded
            await asyncio.sleep(0.001)


class Worker:
    """A link with both of its ends, and what the coordinator does with it."""

    def __init__(self, link: WorkerCluster, ours: Channel, tasks: list[asyncio.Task[None]]) -> None:
        self.link = link
        self.ours = ours
        self.tasks = tasks

    async def die(self) -> None:
        """End as a process that is killed: its sockets are closed, it says nothing more."""
        await self.ours.close()
        await asyncio.wait(self.tasks)


async def join(coordinator: Coordinator, number: int) -> Worker:
    ends = socket.socketpair()
    channels = []
    for end in ends:
        end.setblocking(False)
        channels.append(Channel(*await asyncio.open_connection(sock=end, limit=MAX_LINE)))
    theirs, ours = channels
    link = WorkerCluster(ours)
    link.own_health = lambda: {"worker": number}

    async def attend() -> None:
        await coordinator.attend(number, theirs)
        await theirs.close()

    return Worker(link, ours, [asyncio.create_task(attend()), asyncio.create_task(link.run())])


@asynccontextmanager
async def workers(count: int) -> AsyncIterator[list[WorkerCluster]]:
    coordinator = Coordinator()
    made = [await join(coordinator, number) for number in range(1, count + 1)]
    yield [worker.link for worker in made]
    for worker in made:
        await worker.die()
    await coordinator.close()
    assert not coordinator._owners
    assert not coordinator._counters._rows


async def test_counts_reach_the_others_and_only_them() -> None:
    async with workers(3) as (one, two, three):
        one.tell(SOCKETS, "", 5)
        two.tell(SOCKETS, "", 2)
        await until(lambda: three.count(SOCKETS) == 7)
        await until(lambda: one.count(SOCKETS) == 2)
        assert two.count(SOCKETS) == 5
        one.tell(SOCKETS, "", 0)
        await until(lambda: three.count(SOCKETS) == 2)


async def test_who_joins_late_learns_what_there_is() -> None:
    coordinator = Coordinator()
    first = await join(coordinator, 1)
    first.link.tell("addresses", "10.0.0.1", 4)
    await until(lambda: coordinator._counters._rows)
    second = await join(coordinator, 2)
    await until(lambda: second.link.count("addresses", "10.0.0.1") == 4)
    await first.die()
    await until(lambda: second.link.count("addresses", "10.0.0.1") == 0)
    await second.die()
    await coordinator.close()


async def test_acts_are_told_to_the_others() -> None:
    async with workers(2) as (one, two):
        told: list[tuple[str, int]] = []
        one.on_act("connects", lambda key, number: told.append(("wrong", number)))
        two.on_act("connects", lambda key, number: told.append((key, number)))
        one.act("connects", "10.0.0.1")
        one.act("unknown here", "10.0.0.1")
        one.act("connects", "10.0.0.1", 32)
        await until(lambda: len(told) == 2)
        assert told == [("10.0.0.1", 1), ("10.0.0.1", 32)]


async def test_a_device_takes_its_memory_along() -> None:
    async with workers(2) as (one, two):
        released: list[str] = []
        texts = ["first"]

        async def release(device: str) -> None:
            released.append(device)
            texts.append("the last word")  # the session that ends still has something to say
            one.remember(device, lambda: texts[-1])

        one.on_release(release)
        assert await one.claim("aa") == ""
        await until(lambda: two.count(DEVICES, "aa") == 1)
        one.remember("aa", lambda: texts[-1])
        assert await two.claim("aa") == "the last word"
        assert released == ["aa"]
        one.leave("aa")  # what ends there late takes nothing from the new one
        await until(lambda: one.count(DEVICES, "aa") == 1)
        two.leave("aa")
        await until(lambda: one.count(DEVICES, "aa") == 0)
        assert await one.claim("aa") == "the last word"


async def test_what_is_remembered_often_is_sent_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_module, "REMEMBER_S", 0.01)
    async with workers(2) as (one, two):
        dumps = 0

        def dump() -> str:
            nonlocal dumps
            dumps += 1
            return "text"

        for _ in range(50):
            one.remember("aa", dump)
        await until(lambda: dumps)
        assert dumps == 1
        assert await two.claim("aa") == "text"


async def test_a_process_that_does_not_let_go_costs_a_bounded_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("vixio.cluster.workers.coordinator.RELEASE_S", 0.05)
    async with workers(2) as (one, two):
        hangs = asyncio.Event()

        async def release(device: str) -> None:
            await hangs.wait()

        one.on_release(release)
        await one.claim("aa")
        async with asyncio.timeout(BOUND):
            assert await two.claim("aa") == ""


async def test_devices_of_a_process_that_died_are_nobodys() -> None:
    coordinator = Coordinator()
    first, second = await join(coordinator, 1), await join(coordinator, 2)
    await first.link.claim("aa")
    first.link.remember("aa", lambda: "kept")
    first.link._flush("aa")
    await until(lambda: second.link.count(DEVICES, "aa") == 1)
    await first.die()
    await until(lambda: second.link.count(DEVICES, "aa") == 0)
    assert await second.link.claim("aa") == "kept"
    await second.die()
    await coordinator.close()


async def test_a_claim_is_answered_also_when_the_hub_is_gone() -> None:
    coordinator = Coordinator()
    worker = await join(coordinator, 1)
    await worker.die()
    async with asyncio.timeout(link_module.CLAIM_S + BOUND):
        assert await worker.link.claim("aa") == ""
    assert await worker.link.health() == [{"worker": 1}]
    await coordinator.close()


async def test_everybody_is_asked_for_health() -> None:
    async with workers(3) as links:
        found = await links[1].health()
        assert sorted(each["worker"] for each in found) == [1, 2, 3]


async def test_nonsense_ends_the_one_that_talks_it() -> None:
    coordinator = Coordinator()
    good, bad = await join(coordinator, 1), await join(coordinator, 2)
    bad.link.tell(SOCKETS, "", 3)
    await until(lambda: good.link.count(SOCKETS) == 3)
    bad.ours.send("tell", "sockets", "", "many")
    await asyncio.wait(bad.tasks, timeout=BOUND)
    assert all(task.done() for task in bad.tasks)
    await until(lambda: good.link.count(SOCKETS) == 0)
    assert await good.link.claim("aa") == ""
    await bad.ours.close()
    await good.die()
    await coordinator.close()

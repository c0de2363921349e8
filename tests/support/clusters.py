"""Worker processes of one coordinator in one event loop, over real socket pairs."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from vixio.cluster.workers.channel import Channel
from vixio.cluster.workers.cluster import WorkerCluster
from vixio.cluster.workers.coordinator import Coordinator
from vixio.core.cluster import LossReason, OnLost

BOUND = 30.0


class Holder:
    """A session as far as leases see it: ends at once when its lease is lost."""

    def __init__(self) -> None:
        self.lost: list[LossReason] = []
        self.on_lost: OnLost = self._on_lost

    async def _on_lost(self, reason: LossReason) -> None:
        self.lost.append(reason)


class Worker:
    """A worker's cluster, with both ends of its channel."""

    def __init__(self, number: int, theirs: Channel, ours: Channel) -> None:
        self.theirs = theirs
        self.ours = ours
        self.cluster = WorkerCluster(number, ours)
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, coordinator: Coordinator, number: int) -> None:
        async def attend() -> None:
            await coordinator.attend(number, self.theirs)
            await self.theirs.close()

        self._tasks = [asyncio.create_task(attend()), asyncio.create_task(self.cluster.run())]

    async def ended(self) -> None:
        async with asyncio.timeout(BOUND):
            await asyncio.wait(self._tasks)

    async def die(self) -> None:
        """End as a killed process does: its end is closed, and it says nothing more."""
        await self.ours.close()
        await self.ended()


class Machine:
    """A coordinator and the workers that have joined it."""

    def __init__(self, coordinator: Coordinator) -> None:
        self.coordinator = coordinator
        self.workers: list[Worker] = []

    async def join(self) -> Worker:
        """Return another worker, numbered from 1."""
        one, other = socket.socketpair()
        number = len(self.workers) + 1
        worker = Worker(number, await Channel.open(one), await Channel.open(other))
        self.workers.append(worker)
        worker.start(self.coordinator, number)
        return worker


@asynccontextmanager
async def machine(coordinator: Coordinator | None = None) -> AsyncIterator[Machine]:
    """Yield a machine without any worker; nothing of it is left at the end."""
    made = Machine(coordinator or Coordinator())
    try:
        yield made
    finally:
        for worker in made.workers:
            await worker.die()
        await made.coordinator.close()
    assert made.coordinator.idle


@asynccontextmanager
async def workers(
    count: int, coordinator: Coordinator | None = None
) -> AsyncIterator[list[WorkerCluster]]:
    """Yield the clusters of ``count`` workers."""
    async with machine(coordinator) as made:
        yield [(await made.join()).cluster for _ in range(count)]

"""Workers that are kept running, with workers that are asyncio events instead of processes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from vixio.core.backoff import Backoff
from vixio.core.errors import ProviderError
from vixio.core.framing import Frame
from vixio.providers.inference.workers import WorkerClient, WorkerPool

NOW = Backoff(first=5.0, longest=5.0, immediate=1, jitter=0.0)
LIMIT = 30.0


class FakeWorker(WorkerClient[Any]):
    """A worker without a process."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._exit_code: int | None = None
        self.proven = False
        self.ended = asyncio.Event()
        self.malformed = False

    @property
    def pid(self) -> int:
        return self._pid

    @property
    def exit_code(self) -> int | None:
        return self._exit_code

    def take(self, frame: Frame[Any]) -> None:
        raise NotImplementedError

    async def run(self) -> None:
        await self.ended.wait()
        if self.malformed:
            raise ValueError("a frame of -1 bytes")

    async def stop(self, *, kill: bool = False) -> None:
        self.ended.set()
        self._exit_code = -9 if kill else 0


class Launcher:
    def __init__(self) -> None:
        self.made: list[FakeWorker] = []
        self.failing = 0
        self.attempts = 0

    async def __call__(self) -> FakeWorker:
        self.attempts += 1
        await asyncio.sleep(0)
        if self.failing:
            self.failing -= 1
            raise ProviderError("fake", "no memory")
        self.made.append(FakeWorker(len(self.made)))
        return self.made[-1]


class Pool(WorkerPool[FakeWorker]):
    def __init__(self, launcher: Launcher, size: int = 1) -> None:
        super().__init__("fake", launcher, size, NOW)
        self.seen: list[str] = []
        self.delayed = asyncio.Event()

    def on_ready(self, worker: FakeWorker) -> None:
        self.seen.append(f"ready {worker.pid}")

    def on_end(self, worker: FakeWorker) -> None:
        self.seen.append(f"end {worker.pid}")

    def on_delay(self, seconds: float) -> None:
        self.seen.append(f"delay {seconds:g}")
        self.delayed.set()


@pytest.fixture
def launcher() -> Launcher:
    return Launcher()


@pytest.fixture
async def pool(launcher: Launcher) -> AsyncIterator[Pool]:
    made = Pool(launcher)
    await made.start()
    async with asyncio.timeout(LIMIT):
        yield made
    await made.close()
    assert {worker.exit_code for worker in launcher.made} <= {0, -9}


async def test_all_workers_are_started_and_ended(launcher: Launcher) -> None:
    pool = Pool(launcher, size=3)
    await pool.start()
    assert set(pool.workers) == set(launcher.made)
    await pool.close()
    await pool.close()
    assert set(pool.workers) == set()
    assert [worker.exit_code for worker in launcher.made] == [0, 0, 0]


async def test_a_start_that_fails_leaves_no_worker(launcher: Launcher) -> None:
    launcher.failing = 1
    pool = Pool(launcher, size=3)
    with pytest.raises(ProviderError, match="no memory"):
        await pool.start()
    assert pool.workers == ()
    assert all(worker.exit_code == 0 for worker in launcher.made)


async def test_a_worker_that_ends_is_replaced(pool: Pool, launcher: Launcher) -> None:
    launcher.made[0].ended.set()
    launcher.made[0].proven = True
    await until_ready(pool, 1)
    assert pool.seen == ["ready 0", "end 0", "ready 1"]
    assert pool.restarts == 1


async def test_a_malformed_message_ends_the_worker(pool: Pool, launcher: Launcher) -> None:
    launcher.made[0].malformed = True
    launcher.made[0].ended.set()
    await until_ready(pool, 1)
    assert launcher.made[0].exit_code == -9


async def test_only_workers_without_any_work_are_delayed(pool: Pool, launcher: Launcher) -> None:
    for number in range(3):
        launcher.made[number].proven = True
        launcher.made[number].ended.set()
        await until_ready(pool, number + 1)
    assert not pool.delayed.is_set()
    launcher.made[3].ended.set()
    await pool.delayed.wait()
    assert pool.workers == ()
    assert pool.seen[-2:] == ["end 3", "delay 5"]


async def test_starts_that_fail_are_repeated_with_a_delay(pool: Pool, launcher: Launcher) -> None:
    launcher.failing = 1
    launcher.made[0].proven = True
    launcher.made[0].ended.set()
    await pool.delayed.wait()
    assert launcher.attempts == 2


async def test_close_in_the_delay(pool: Pool, launcher: Launcher) -> None:
    launcher.failing = 1
    launcher.made[0].ended.set()
    await pool.delayed.wait()
    await pool.close()
    assert launcher.attempts == 2


async def until_ready(pool: Pool, number: int) -> None:
    """Wait for the worker of this number."""
    while f"ready {number}" not in pool.seen:
        pool._changed.clear()
        await pool._changed.wait()

"""The batching thread, with a network that records its input."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence

import pytest

from tests.support.waiting import until
from vixio.core.errors import ProviderError
from vixio.providers.batched_vad.direct import MAX_WINDOWS
from vixio.providers.batched_vad.worker import BatchWorker, Job, Lane
from vixio.providers.silero_vad.model import WINDOW_BYTES, SileroModel

LIMIT = 30.0


class RecordingModel(SileroModel):
    """Returns the first byte of each window; holds every batch until ``gate`` is open."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.times: list[float] = []
        self.forgotten: list[int] = []
        self.owners: list[str] = []
        """Each forget and release, in order."""
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()
        self.fault_at = -1
        """The number of the batch that fails."""

    def forget(self, slot: int) -> None:
        self.forgotten.append(slot)
        self.owners.append(f"forget {slot}")

    def release(self, slot: int) -> None:
        self.owners.append(f"release {slot}")

    def close(self) -> None:
        self.owners.append("close")

    def run(self, slots: Sequence[int], pieces: Sequence[bytes]) -> list[list[float]]:
        self.batches.append(list(slots))
        self.times.append(time.monotonic())
        self.entered.set()
        assert self.gate.wait(LIMIT)
        if len(self.batches) - 1 == self.fault_at:
            raise RuntimeError("no memory")
        assert all(0 < len(each) <= MAX_WINDOWS * WINDOW_BYTES for each in pieces)
        return [[float(mark) for mark in each[::WINDOW_BYTES]] for each in pieces]


class Bench:
    """A worker and methods to feed it."""

    def __init__(self, max_batch: int = 8, interval: float = 0.0) -> None:
        self.model = RecordingModel()
        self.loop = asyncio.get_running_loop()
        self.worker = BatchWorker(self.model, self.loop, max_batch=max_batch, interval=interval)

    def submit(self, lane: Lane, *marks: int, forget: bool = False) -> asyncio.Future[list[float]]:
        future: asyncio.Future[list[float]] = self.loop.create_future()
        pcm = b"".join(bytes([mark]) * WINDOW_BYTES for mark in marks)
        self.worker.submit(Job(lane, pcm, future, forget=forget))
        return future

    async def hold(self) -> asyncio.Future[list[float]]:
        """Hold the thread in a batch of slot 99; jobs submitted from now on form the next batch."""
        self.model.gate.clear()
        self.model.entered.clear()
        future = self.submit(Lane(99), 1)
        assert await asyncio.to_thread(self.model.entered.wait, LIMIT)
        return future

    async def end(self) -> None:
        self.model.gate.set()
        self.worker.stop()
        async with asyncio.timeout(LIMIT):
            await self.worker.join()


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench()
    yield bench
    await bench.end()


async def test_what_waits_is_one_batch(bench: Bench) -> None:
    held = await bench.hold()
    futures = [bench.submit(Lane(slot), slot) for slot in range(5)]
    bench.model.gate.set()
    async with asyncio.timeout(LIMIT):
        assert await asyncio.gather(held, *futures) == [[1.0], [0.0], [1.0], [2.0], [3.0], [4.0]]
    assert bench.model.batches == [[99], [0, 1, 2, 3, 4]]


async def test_a_batch_holds_a_few_windows_of_one_job_of_a_device(bench: Bench) -> None:
    _ = await bench.hold()
    first, second = Lane(1), Lane(2)
    futures = [
        bench.submit(first, *range(10, 15)),
        bench.submit(first, 15),
        bench.submit(second, 20, 21),
    ]
    bench.model.gate.set()
    async with asyncio.timeout(LIMIT):
        assert await asyncio.gather(*futures) == [[10, 11, 12, 13, 14], [15], [20, 21]]
    assert MAX_WINDOWS == 4
    assert bench.model.batches[1:] == [[1, 2], [1], [1]]


async def test_a_batch_has_a_limit_and_every_lane_gets_its_turn(bench: Bench) -> None:
    _ = await bench.hold()
    lanes = [Lane(slot) for slot in range(12)]
    futures = [bench.submit(lane, 1, 2) for lane in lanes]
    bench.model.gate.set()
    async with asyncio.timeout(LIMIT):
        await asyncio.gather(*futures)
    assert bench.model.batches[1:] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    futures = [bench.submit(lane, 1, 2, 3) for lane in lanes[:4]]
    async with asyncio.timeout(LIMIT):
        assert await asyncio.gather(*futures) == [[1, 2, 3]] * 4
    assert all(len(each) <= 3 for each in bench.model.batches[4:])


async def test_one_wake_up_of_the_loop_a_batch(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = await bench.hold()
    futures = [bench.submit(Lane(slot), slot) for slot in range(6)]
    calls: list[object] = []
    call = bench.loop.call_soon_threadsafe

    def counted(callback: Callable[..., object], *arguments: object) -> asyncio.Handle:
        calls.append(callback)
        return call(callback, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(bench.loop, "call_soon_threadsafe", counted)
        bench.model.gate.set()
        async with asyncio.timeout(LIMIT):
            await asyncio.gather(held, *futures)
    assert len(calls) == 2


async def test_a_fault_fails_the_jobs_of_its_batch(bench: Bench) -> None:
    held = await bench.hold()
    lanes = [Lane(slot) for slot in range(3)]
    futures = [bench.submit(lane, 1, 2) for lane in lanes]
    later = bench.submit(lanes[0], 3)
    bench.model.fault_at = 1
    bench.model.gate.set()
    assert await asyncio.wait_for(held, LIMIT) == [1.0]
    for future in futures:
        with pytest.raises(ProviderError, match="inference failed") as raised:
            await asyncio.wait_for(future, LIMIT)
        assert raised.value.retryable
        assert isinstance(raised.value.__cause__, RuntimeError)
    assert await asyncio.wait_for(later, LIMIT) == [3.0]
    assert await asyncio.wait_for(bench.submit(lanes[0], 7), LIMIT) == [7.0]
    assert await asyncio.wait_for(bench.submit(lanes[1], 8), LIMIT) == [8.0]


async def test_forgetting_comes_once_before_the_first_window(bench: Bench) -> None:
    lane = Lane(4)
    await asyncio.wait_for(bench.submit(lane, 1, 2, 3, forget=True), LIMIT)
    await asyncio.wait_for(bench.submit(lane, 4), LIMIT)
    assert bench.model.forgotten == [4]


async def test_a_closed_device_is_not_run(bench: Bench) -> None:
    _ = await bench.hold()
    lane = Lane(1)
    futures = [bench.submit(lane, 1, 2), bench.submit(lane, 3)]
    lane.closed = True
    bench.model.gate.set()
    for future in futures:
        with pytest.raises(ProviderError):
            await asyncio.wait_for(future, LIMIT)
    assert bench.model.batches == [[99]]


async def test_a_cancelled_job_is_run_and_its_answer_dropped(bench: Bench) -> None:
    _ = await bench.hold()
    lane = Lane(1)
    cancelled, kept = bench.submit(lane, 1), bench.submit(lane, 2)
    neighbour = bench.submit(Lane(2), 3)  # in the same batch, after the cancelled one
    cancelled.cancel()
    bench.model.gate.set()
    assert await asyncio.wait_for(neighbour, LIMIT) == [3.0]
    assert await asyncio.wait_for(kept, LIMIT) == [2.0]
    assert bench.model.batches[1:] == [[1, 2], [1]]


async def test_windows_gather_and_a_device_that_catches_up_does_not_wait() -> None:
    bench = Bench(interval=600.0)  # longer than the test: only urgent windows run
    try:
        first = Lane(1)
        assert await asyncio.wait_for(bench.submit(first, 1), LIMIT) == [1.0]  # after a pause
        waiting = [bench.submit(Lane(slot), slot) for slot in (2, 3)]
        await until(lambda: bench.worker._gathering)
        # An urgent window: it runs now, together with the collected ones.
        assert await asyncio.wait_for(bench.submit(first, 5), LIMIT) == [5.0]
        assert await asyncio.wait_for(asyncio.gather(*waiting), LIMIT) == [[2.0], [3.0]]
        assert bench.model.batches[0] == [1]
        assert sorted(slot for batch in bench.model.batches[1:] for slot in batch) == [1, 2, 3]
        assert len(bench.model.batches) == 2
    finally:
        await bench.end()


async def test_newcomers_do_not_join_one_by_one() -> None:
    bench = Bench(interval=30.0)
    try:
        bench.model.gate.clear()
        marks = list(range(1, 2 * MAX_WINDOWS + 2))
        long = bench.submit(Lane(1), *marks)
        assert await asyncio.to_thread(bench.model.entered.wait, LIMIT)
        _ = bench.submit(Lane(2), 4)
        bench.model.gate.set()
        assert await asyncio.wait_for(long, LIMIT) == marks
        assert bench.model.batches == [[1], [1], [1]]
    finally:
        await bench.end()


async def test_gathering_ends_with_its_time() -> None:
    bench = Bench(interval=0.05)
    try:
        began = time.monotonic()
        await asyncio.wait_for(bench.submit(Lane(1), 1), LIMIT)
        await asyncio.wait_for(bench.submit(Lane(2), 2), LIMIT)
        assert bench.model.times[1] >= began + 0.05
    finally:
        await bench.end()


async def test_stop_ends_an_idle_and_a_gathering_thread() -> None:
    idle, gathering = Bench(), Bench(interval=30.0)
    await asyncio.wait_for(gathering.submit(Lane(1), 1), LIMIT)
    _ = gathering.submit(Lane(2), 2)
    await idle.end()
    await gathering.end()


async def test_a_place_is_given_back_before_its_next_owner_is_served(bench: Bench) -> None:
    first, second = Lane(3), Lane(3)
    async with asyncio.timeout(LIMIT):
        await bench.submit(first, 1, forget=True)
    held = await bench.hold()
    waiting = bench.submit(first, 2)
    first.closed = True
    bench.worker.submit(first)
    future = bench.submit(second, 7, forget=True)
    bench.model.gate.set()
    async with asyncio.timeout(LIMIT):
        assert await future == [7.0]
        await held
        with pytest.raises(ProviderError):
            await waiting
    assert bench.model.owners == ["forget 3", "release 3", "forget 3"]


async def test_the_model_is_closed_when_the_thread_ends() -> None:
    bench = Bench()
    async with asyncio.timeout(LIMIT):
        await bench.submit(Lane(1), 5)
    assert bench.model.owners == []
    await bench.end()
    assert bench.model.owners == ["close"]

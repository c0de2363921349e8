"""Which windows run on the event loop, and that they run there as they would in the thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence

import pytest

from tests.support.waiting import until
from vixio.core.errors import ProviderError
from vixio.providers.batched_vad.direct import (
    FEW_JOBS,
    LONGEST_S,
    MAX_WINDOWS,
    PERIOD_S,
    REST_S,
    DirectRuns,
)
from vixio.providers.batched_vad.provider import BatchedVADProvider, BatchSettings
from vixio.providers.batched_vad.worker import BatchWorker, Job, Lane

LIMIT = 30.0
WINDOW_BYTES = 8


class SumModel:
    """Returns the sum of all windows of a slot so far, and knows which thread asked."""

    name = "sum"
    window_bytes = WINDOW_BYTES

    def __init__(self) -> None:
        self.sums: dict[int, int] = {}
        self.threads: list[str] = []
        self.gate = threading.Event()
        self.gate.set()
        self.fails = False

    def forget(self, slot: int) -> None:
        self.sums[slot] = 0

    def run(self, slots: Sequence[int], pieces: Sequence[bytes]) -> list[list[float]]:
        self.threads.append(threading.current_thread().name)
        assert self.gate.wait(LIMIT)
        if self.fails:
            raise RuntimeError("no memory")
        return [self._sums(slot, piece) for slot, piece in zip(slots, pieces, strict=True)]

    def _sums(self, slot: int, piece: bytes) -> list[float]:
        assert WINDOW_BYTES <= len(piece) <= MAX_WINDOWS * WINDOW_BYTES
        sums: list[float] = []
        for mark in piece[::WINDOW_BYTES]:
            self.sums[slot] += mark
            sums.append(float(self.sums[slot]))
        return sums

    def release(self, slot: int) -> None:
        self.sums.pop(slot, None)

    def close(self) -> None:
        self.sums.clear()


class SumVAD(BatchedVADProvider):
    name = "sum"
    window_samples = WINDOW_BYTES // 2

    def __init__(self) -> None:
        super().__init__(BatchSettings(gather_ms=0))
        self.model = SumModel()

    def load(self) -> SumModel:
        return self.model

    async def idle(self) -> None:
        """Wait until the thread waits for work."""
        worker = self._worker
        assert worker is not None
        async with asyncio.timeout(LIMIT):
            await until(lambda: worker._idle)

    def rest(self) -> None:
        """Have a pause of all devices behind us."""
        assert self._worker is not None
        self._worker._direct = DirectRuns()


@pytest.fixture
async def vad() -> AsyncIterator[SumVAD]:
    vad = SumVAD()
    await vad.start()
    await vad.idle()
    yield vad
    vad.model.gate.set()
    await vad.close()


def pcm(*marks: int) -> bytes:
    return b"".join(bytes([mark]) * WINDOW_BYTES for mark in marks)


# ── the decision ────────────────────────────────────────────────────────────────────────────────


def allowed(runs: DirectRuns, devices: int, seconds: float) -> list[bool]:
    """Return the decision for each packet of so many devices that send in turn."""
    packets = round(devices * seconds / PERIOD_S)
    return [runs.allows(100 + packet * PERIOD_S / devices, 2) for packet in range(packets)]


def test_few_devices_run_directly() -> None:
    assert all(allowed(DirectRuns(), 1, 1.0))
    assert all(allowed(DirectRuns(), FEW_JOBS - 1, 1.0))


def test_many_devices_leave_it_to_the_thread() -> None:
    decisions = allowed(DirectRuns(), FEW_JOBS + 2, 1.0)
    assert not any(decisions[FEW_JOBS:])
    decisions = allowed(DirectRuns(), 200, 1.0)
    assert not any(decisions[FEW_JOBS:])


def test_it_goes_back_when_devices_leave() -> None:
    runs = DirectRuns()
    at = 0.0
    for _ in range(200):
        runs.allows(at, 2)
        at += PERIOD_S / 200
    later = [runs.allows(at + packet * PERIOD_S, 2) for packet in range(FEW_JOBS + 2)]
    assert later[0] is False
    assert later[-1] is True


def test_a_backlog_is_for_the_thread() -> None:
    runs = DirectRuns()
    assert not runs.allows(1.0, MAX_WINDOWS + 1)
    assert runs.allows(2.0, MAX_WINDOWS)


def test_a_run_that_took_long_has_consequences_for_a_while() -> None:
    runs = DirectRuns()
    assert runs.allows(1.0, 2)
    runs.took(LONGEST_S / 2, 1.0)
    assert runs.allows(2.0, 2)
    runs.took(LONGEST_S * 2, 2.0)
    assert not runs.allows(2.0 + REST_S * 0.9, 2)
    assert runs.allows(2.0 + REST_S * 1.1, 2)


# ── both ways ───────────────────────────────────────────────────────────────────────────────────


async def test_a_lone_device_is_answered_without_a_wait(vad: SumVAD) -> None:
    stream = vad.open()
    answer = stream.process(pcm(1, 2))
    with pytest.raises(StopIteration) as ended:  # the coroutine ends without a suspension
        answer.send(None)
    assert ended.value.value == [1.0, 3.0]
    assert set(vad.model.threads) == {threading.current_thread().name}


async def test_state_goes_on_from_one_way_to_the_other(vad: SumVAD) -> None:
    stream = vad.open()
    heard: list[float] = []
    for _ in range(5):
        await vad.idle()
        vad.rest()
        heard += await stream.process(pcm(1))  # on the loop
        heard += await stream.process(pcm(*[1] * (MAX_WINDOWS + 1)))  # in the thread
    assert heard == [float(number) for number in range(1, 5 * (MAX_WINDOWS + 2) + 1)]
    loop = threading.current_thread().name
    assert [name == loop for name in vad.model.threads] == [True, False, False] * 5


async def test_what_the_thread_still_has_comes_first(vad: SumVAD) -> None:
    stream = vad.open()
    vad.model.gate.clear()
    long = asyncio.ensure_future(stream.process(pcm(*[1] * (MAX_WINDOWS + 1))))
    async with asyncio.timeout(LIMIT):
        await until(lambda: len(vad.model.threads) == 1)
    vad.rest()
    short = asyncio.ensure_future(stream.process(pcm(1)))
    other = asyncio.ensure_future(vad.open().process(pcm(7)))
    await asyncio.sleep(0)
    assert not short.done()
    assert not other.done()
    vad.model.gate.set()
    async with asyncio.timeout(LIMIT):
        assert await long == [1.0, 2.0, 3.0, 4.0, 5.0]
        assert await short == [6.0]
        assert await other == [7.0]
    assert threading.current_thread().name not in vad.model.threads


async def test_a_reset_forgets_on_the_loop(vad: SumVAD) -> None:
    stream = vad.open()
    assert await stream.process(pcm(4)) == [4.0]
    stream.reset()
    assert await stream.process(pcm(5)) == [5.0]


async def test_a_fault_on_the_loop_costs_one_call(vad: SumVAD) -> None:
    stream = vad.open()
    assert await stream.process(pcm(1)) == [1.0]
    vad.model.fails = True
    with pytest.raises(ProviderError, match="inference failed") as raised:
        await stream.process(pcm(1))
    assert isinstance(raised.value.__cause__, RuntimeError)
    vad.model.fails = False
    vad.rest()
    assert await stream.process(pcm(2)) == [3.0]


async def test_a_crowd_is_for_the_thread(vad: SumVAD) -> None:
    streams = [vad.open() for _ in range(4 * FEW_JOBS)]
    async with asyncio.timeout(LIMIT):
        for step in range(1, 4):
            answers = await asyncio.gather(*(each.process(pcm(1)) for each in streams))
            assert answers == [[float(step)]] * len(streams)
    loop = threading.current_thread().name
    assert any(name != loop for name in vad.model.threads)


async def test_a_stopped_worker_runs_nothing() -> None:
    model = SumModel()
    worker = BatchWorker(model, asyncio.get_running_loop(), max_batch=8, interval=0.0)
    async with asyncio.timeout(LIMIT):
        await until(lambda: worker._idle)
        lane = Lane(0)
        assert worker.run_here(lane, pcm(1), forget=True) == [1.0]
        worker.stop()
        assert worker.run_here(lane, pcm(1), forget=False) is None
        await worker.join()
    assert len(model.threads) == 1


async def test_a_run_on_the_loop_makes_the_next_job_no_newcomer() -> None:
    """The thread serves a device at once that was served on the loop just now."""
    model = SumModel()
    worker = BatchWorker(model, asyncio.get_running_loop(), max_batch=8, interval=600.0)
    try:
        async with asyncio.timeout(LIMIT):
            await until(lambda: worker._idle)
            lane = Lane(0)
            assert worker.run_here(lane, pcm(1), forget=True) == [1.0]
            for expected in ([2.0], [3.0]):
                future: asyncio.Future[list[float]] = asyncio.get_running_loop().create_future()
                worker.submit(Job(lane, pcm(1), future, forget=False))
                assert await future == expected
    finally:
        worker.stop()
        await worker.join()

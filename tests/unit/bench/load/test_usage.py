"""Distributions, this process's usage, the lateness of a loop."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time

import pytest

from tests.support.waiting import until
from vixio_bench.load.usage import (
    LoopLag,
    Spread,
    children_kb,
    look,
    machine_busy,
    percentile,
    resident_kb,
)


def test_percentiles_are_values_that_occurred() -> None:
    values = [float(value) for value in range(100, 0, -1)]
    assert percentile(values, 0.5) == 51
    assert percentile(values, 0.99) == 100
    assert percentile([], 0.5) == 0.0
    assert Spread.of(values) == Spread(100, 51, 96, 100, 100)
    assert Spread.of([]).count == 0


async def test_a_look_sees_work_memory_and_tasks() -> None:
    before, busy = look(), machine_busy()
    ballast = bytes(32 * 1024 * 1024)
    waiting = asyncio.create_task(asyncio.sleep(60))
    end = time.process_time() + 0.05
    while time.process_time() < end:
        pass
    after = look()
    assert after.cpu - before.cpu >= 0.05
    assert after.at > before.at
    assert after.tasks == before.tasks + 1
    assert after.threads >= 1
    assert after.rss_kb > 1_024
    assert not busy or machine_busy() - busy >= 0.03
    assert len(ballast) > 0
    waiting.cancel()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_the_memory_of_children_counts() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert resident_kb(child.pid) > 1_024
        assert children_kb(os.getpid()) >= resident_kb(child.pid) - 512
        child.communicate(b"\n")
    assert resident_kb(child.pid) == 0


async def test_a_blocked_loop_is_seen() -> None:
    lag = LoopLag()
    lag.start()
    await asyncio.sleep(0)  # it has begun to wait
    time.sleep(0.1)  # noqa: ASYNC251 - to block the loop is the point
    await until(lambda: lag.lags)
    assert max(lag.lags) > 50
    lag.reset()
    assert not lag.lags
    await lag.stop()

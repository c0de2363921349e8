"""The judge of the loop's lag: with made-up samples, and on a loop that is held up."""

from __future__ import annotations

import asyncio
import time

from tests.unit.transports.xiaozhi.support import until
from vixio.transports.admission.loop_lag import INTERVAL_S, LoopLag


def feed(lag: LoopLag, at: float, late: float, number: int, work: float = 1.0) -> float:
    """``work``: how many cores the process keeps busy."""
    for _ in range(number):
        at += INTERVAL_S + late
        lag.add(at, late, work * at)
    return at


def test_a_lasting_lag_makes_it_busy_and_calm_ends_it() -> None:
    lag = LoopLag(0.15)
    at = feed(lag, 0.0, 0.001, 5)
    seen = [lag.busy]
    for late, number in ((0.2, 15), (0.1, 20), (0.05, 30)):
        at = feed(lag, at, late, number)  # the second is less than the limit, and not calm yet
        seen.append(lag.busy)
    assert seen == [False, True, True, False]
    assert lag.p95 == 0.05


def test_a_little_late_for_long_is_busy_and_ends_when_half_of_the_time_is_well() -> None:
    lag, at = LoopLag(0.15), 0.0
    seen = []
    # The first are not yet ten seconds; the third are less than the share, and not calm yet.
    for late, number in ((0.004, 170), (0.004, 30), (0.002, 200), (0.001, 120)):
        at = feed(lag, at, late, number)
        seen.append(lag.busy)
    assert seen == [False, True, True, False]
    assert lag.median == 0.001


def test_who_is_late_because_others_work_takes_on_more() -> None:
    lag = LoopLag(0.15)
    at = feed(lag, 0.0, 0.1, 200, work=0.2)
    assert (lag.busy, lag.late_at) == (False, None)
    feed(lag, at, 0.1, 200, work=1.0)
    assert lag.busy


def test_a_storm_of_four_seconds_is_nothing_that_lasts() -> None:
    lag = LoopLag(0.15)
    at = feed(lag, 0.0, 0.001, 250)
    for late, number in ((0.1, 27), (0.001, 250)):
        for _ in range(number):
            at = feed(lag, at, late, 1)
            assert not lag.busy


def test_one_late_sample_is_no_overload_however_late() -> None:
    for late in (0.3, 1.0, 1.9, 10.0):
        lag = LoopLag(0.15)
        at = feed(lag, 0.0, 0.0, 40)
        at = feed(lag, at, late, 1)
        assert not lag.busy
        for _ in range(40):
            at = feed(lag, at, 0.0, 1)
            assert not lag.busy


def test_a_loop_that_hardly_runs_is_busy() -> None:
    lag = LoopLag(0.15)
    feed(lag, 0.0, 0.45, 10)
    assert lag.busy


def test_off_is_never_busy_but_measures() -> None:
    lag = LoopLag(0.0)
    feed(lag, 0.0, 1.0, 40)
    assert not lag.busy
    assert lag.p95 == 1.0


async def test_a_loop_that_is_held_up_is_noticed() -> None:
    lag = LoopLag(0.05)
    lag.start()
    lag.start()
    try:
        async with asyncio.timeout(10):
            while not lag.busy:
                time.sleep(0.12)  # noqa: ASYNC251  what it is about
                await asyncio.sleep(0.001)
        assert lag.p95 > 0.05
        await until(lambda: not lag.busy)
    finally:
        lag.stop()
        lag.stop()
    assert lag.p95 == 0

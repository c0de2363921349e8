"""The rule of overload: with made-up samples, and on a loop that is held up."""

from __future__ import annotations

import asyncio
import time

import pytest

from vixio.transports.admission import overload as module
from vixio.transports.admission.overload import INTERVAL_S, RECOVERY_S, Overload

LIMIT = 0.004


class Process:
    """A process whose loop has a given lag, on an artificial clock."""

    def __init__(self, limit: float = LIMIT) -> None:
        self.at = 0.0
        self.worked = 0.0
        self.overload = Overload(limit, lambda: self.at)

    def run(self, seconds: float, late: float = 0.0, cores: float = 1.0) -> bool:
        """Let time pass; return whether it is overloaded at the end."""
        end = self.at + seconds
        while self.at < end:
            self.at += INTERVAL_S + late
            self.worked += cores * (INTERVAL_S + late)
            self.overload.add(self.at, late, self.worked)
        return self.overload.active

    def admitted(self, seconds: float) -> int:
        """Return how many of a crowd are admitted, all of which try ten times a second."""
        count = 0
        end = self.at + seconds
        while self.at < end:
            self.at += 0.1
            while count < 5_000 and self.overload.admit():
                count += 1
        return count


def test_a_lasting_lag_is_an_overload_and_half_of_it_ends_it() -> None:
    process = Process()
    assert not process.run(9.5, 0.006), "not yet ten seconds"
    assert process.run(1.0, 0.006)
    assert process.run(30.0, 0.003), "less than the limit, and not calm yet"
    assert not process.run(6.0, 0.001), "half of the time is well"
    assert process.overload.lag == 0.001


@pytest.mark.parametrize("late", [0.45, 1.9])
def test_a_loop_that_hardly_runs_is_overloaded(late: float) -> None:
    assert Process().run(20.0, late)


def test_a_loop_that_other_work_delays_is_not() -> None:
    process = Process()
    assert not process.run(60.0, 0.1, cores=0.2)
    assert process.run(20.0, 0.1, cores=1.0)


def test_a_storm_of_four_seconds_is_none() -> None:
    process = Process()
    process.run(20.0, 0.001)
    for seconds, late in ((4.0, 0.1), (20.0, 0.001)):
        end = process.at + seconds
        while process.at < end:
            assert not process.run(INTERVAL_S, late)


@pytest.mark.parametrize("late", [0.3, 1.0, 5.0, 9.7, 10.0, 30.0])
@pytest.mark.parametrize("times", [1, 2])
def test_a_hiccup_is_none_however_long(late: float, times: int) -> None:
    process = Process()
    process.run(20.0)
    for _ in range(times):
        assert not process.run(INTERVAL_S, late)
    for _ in range(400):
        assert not process.run(INTERVAL_S)


def test_without_a_limit_it_only_measures() -> None:
    process = Process(limit=0.0)
    assert not process.run(30.0, 1.0)
    assert process.overload.lag == 1.0
    assert process.admitted(0.1) == 5_000


def test_all_are_admitted_as_long_as_there_was_no_overload() -> None:
    assert Process().admitted(0.1) == 5_000


def test_after_an_overload_one_a_second_is_admitted() -> None:
    process = Process()
    process.run(20.0, 0.1)
    assert process.admitted(5.0) == 0
    process.run(20.0)
    assert process.admitted(60.0) == pytest.approx(60, abs=6)
    process.run(RECOVERY_S)
    assert process.admitted(0.1) == 5_000


def test_the_next_overload_stops_it_again() -> None:
    process = Process()
    process.run(20.0, 0.1)
    process.run(20.0)
    assert process.admitted(2.0)
    process.run(20.0, 0.1)
    assert process.admitted(2.0) == 0


def test_a_forgotten_overload_refuses_no_device() -> None:
    process = Process()
    process.run(20.0, 0.1)
    process.overload.forget()
    assert not process.overload.active
    assert process.admitted(0.1) == 5_000
    assert not process.run(9.0, 0.1), "the window begins anew"


@pytest.mark.slow
async def test_a_loop_that_is_held_up_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WINDOW_S", 1.5)
    monkeypatch.setattr(module, "OWN_WORK", 0.0)  # how much it gets depends on the machine
    overload = Overload(0.05)
    overload.start()
    overload.start()
    try:
        async with asyncio.timeout(30):
            while not overload.active:
                time.sleep(0.12)  # noqa: ASYNC251  what it is about
                await asyncio.sleep(0.001)
    finally:
        overload.stop()
        overload.stop()
    assert overload.lag == 0, "what was measured is forgotten"

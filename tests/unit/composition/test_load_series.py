"""The series of load samples: bounded, and added up over processes by time."""

from __future__ import annotations

import json
import os
import sys

import pytest

from vixio.composition.load_series import (
    INTERVAL_S,
    NAMES,
    SAMPLES,
    LoadSeries,
    Ring,
    added_up,
    resident_bytes,
)
from vixio.core.metrics import TurnTimeline
from vixio.core.session.events import Failure, TurnEnded, TurnStarted


class Clock:
    """Seconds since 1970, set by the test."""

    def __init__(self, at: float = 1_800_000_000.0) -> None:
        self.at = at

    def __call__(self) -> float:
        return self.at


@pytest.mark.parametrize("count", [0, 1, 4, 5, 7, 23])
def test_a_ring_keeps_the_last_numbers(count: int) -> None:
    ring = Ring("q", size=5)
    for number in range(count):
        ring.put(number)
    assert ring.all() == list(range(count))[-5:]


def test_two_hours_are_kept() -> None:
    clock = Clock()
    series = LoadSeries(lambda: 1, lambda: 0.0, clock)
    for _ in range(SAMPLES + 10):
        series.sample()
        clock.at += INTERVAL_S
    status = series.status()
    assert {len(numbers) for numbers in status.values()} == {SAMPLES}
    assert status["ticks"][-1] * INTERVAL_S == clock.at - INTERVAL_S
    assert json.loads(json.dumps(status)) == status


def test_turns_and_failures_are_those_of_the_interval() -> None:
    series = LoadSeries(lambda: 3, lambda: 1.5, Clock())
    for turn in range(2):
        series(TurnStarted("d", "s", 0.0, turn, "hello"))
    series(Failure("d", "s", 0.0, 1, "tts", "service", ""))
    series(Failure("d", "s", 0.0, 1, "tts", "service", "", partial=True))
    for turn, outcome in enumerate(
        ("answered", "failed:service", "tool_failed", "not_understood", "not_understood"), start=1
    ):
        series(TurnEnded("d", "s", 0.0, turn, TurnTimeline(turn, outcome=outcome)))
    series.sample(late_ms=0.5)
    series.sample(late_ms=7.25)
    status = series.status()
    assert status["turns"] == [2, 0]
    assert status["failures"] == [2, 0], "the one that failed, and the one whose tool did"
    assert status["not_understood"] == [2, 0]
    assert status["connected"] == [3, 3]
    assert status["lag_ms"] == [1.5, 7.2]


def test_processes_are_added_up_where_their_samples_are_of_one_time() -> None:
    one, two = Clock(), Clock(1_800_000_000.0 + INTERVAL_S)
    first = LoadSeries(lambda: 1, lambda: 2.0, one)
    second = LoadSeries(lambda: 4, lambda: 1.0, two)
    for series, clock in ((first, one), (second, two)):
        for _ in range(2):
            series.sample()
            clock.at += INTERVAL_S
    found = added_up([first.status(), second.status(), {"worker": "3"}], 100)
    assert found["connected"] == [1, 5, 4]
    assert found["lag_ms"] == [2.0, 2.0, 1.0]
    assert [at % (INTERVAL_S * 1000) for at in found["at"]] == [0, 0, 0]
    last = added_up([first.status(), second.status()], 1)
    assert {name: len(last[name]) for name in ("at", *NAMES)} == dict.fromkeys(("at", *NAMES), 1)
    assert added_up([], 5) == {name: [] for name in ("at", *NAMES)}


def test_a_node_of_an_earlier_version_is_added_up_too() -> None:
    series = LoadSeries(lambda: 1, lambda: 0.0, Clock())
    series(TurnEnded("d", "s", 0.0, 1, TurnTimeline(1, outcome="not_understood")))
    series.sample()
    earlier = {name: value for name, value in series.status().items() if name != "not_understood"}
    found = added_up([series.status(), earlier], 10)
    assert (found["connected"], found["not_understood"]) == ([2], [1])


def test_two_samples_of_one_time_are_one() -> None:
    series = LoadSeries(lambda: 1, lambda: 0.0, Clock())
    for turn in range(2):
        series(TurnStarted("d", "s", 0.0, turn, "hello"))
        series.sample()
    found = added_up([series.status()], 10)
    assert (found["connected"], found["turns"]) == ([1], [2])


@pytest.mark.skipif(sys.platform != "linux", reason="of /proc")
def test_the_memory_is_that_of_the_process() -> None:
    size = resident_bytes()
    assert size % os.sysconf("SC_PAGE_SIZE") == 0
    assert size > 1_000_000

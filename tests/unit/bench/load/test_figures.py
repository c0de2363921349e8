"""Figures are put together right, and a generator that was the limit is named."""

from __future__ import annotations

import pytest

from vixio_bench.load.control import Json
from vixio_bench.load.figures import Growth, Result, growth, put_generators, put_server


def generator(cpu: float, lag: float, **counts: int) -> tuple[Json, Json]:
    spread = {"count": 9, "p50": 0.1, "p95": lag / 2, "p99": lag, "max": lag}
    after = {
        "now": {"at": 110.0, "cpu": 5.0 + 10 * cpu, "connected": 6},
        "loop_lag_ms": spread,
        "counts": counts,
        "hello_ms": [],
        "response_ms": [600.0, 700.0],
        "jitter_ms": [1.0],
        "trouble": [],
    }
    return {"at": 100.0, "cpu": 5.0}, after


def told(*generators: tuple[Json, Json]) -> Result:
    result = Result("talk", 10)
    put_generators(result, [before for before, _ in generators], [after for _, after in generators])
    return result


def test_generators_are_summed_up() -> None:
    result = told(generator(0.2, 3.0, turns=5, crossed=1), generator(0.4, 5.0, turns=7))
    assert result.counts == {"turns": 12, "crossed": 1}
    assert result.generator_cpu == pytest.approx(0.6)
    assert result.generator_busiest == pytest.approx(0.4)
    assert result.response.count == 4
    assert (result.bad_turns, result.bad_frames) == (1, 0)
    assert result.connected == 12
    assert result.generator_limits == []


@pytest.mark.parametrize(("cpu", "lag", "word"), [(0.95, 3.0, "core"), (0.2, 40.0, "late")])
def test_a_generator_that_did_not_keep_up_is_named(cpu: float, lag: float, word: str) -> None:
    limits = told(generator(0.1, 1.0), generator(cpu, lag)).generator_limits
    assert len(limits) == 1
    assert word in limits[0]


def test_the_share_leaves_out_scripted_delays_and_unanswered_turns() -> None:
    spread = {"count": 1, "p50": 1.0, "p95": 1.0, "p99": 1.0, "max": 1.0}
    answered = {
        "outcome": "answered",
        "share": 310.0,
        "held": 150.0,
        "stages": [305.0, 1.0, 1.0, 1.0, 2.0],
    }
    failed = {"outcome": "failed:timeout", "share": None, "held": None, "stages": [None] * 5}
    figures = {
        "now": {"at": 120.0, "cpu": 6.0, "rss_kb": 5, "connected": 1},
        "answered": 1,
        "turns": [answered, failed],
        "cpu_by_thread": {"MainThread": 3.0, "vixio-silero": 1.0, "idle": 0.0},
        "work": {"agent": 0.005, "pacing": 0.002},
        "loop_lag_ms": spread,
        "decision_lag_ms": spread,
        "counters": {},
    }
    result = Result("talk", 1)
    put_server(result, {"at": 100.0, "cpu": 2.0}, figures, 300.0)
    assert result.turns == 1
    assert result.work == {"agent": 5.0, "pacing": 2.0}
    assert result.share.p50 == 10.0
    assert result.held.p50 == 150.0
    assert result.stages["turn_end"].p50 == 305.0
    assert result.server_cpu == pytest.approx(0.2)
    assert result.cpu_by_thread == {"MainThread": 0.15, "vixio-silero": 0.05}
    assert result.turns_per_s == pytest.approx(0.05)


def test_growth_is_the_rise_of_a_line() -> None:
    times = [float(at) for at in range(100)]
    grown = Growth.of(times, [50 + 2 * at for at in times])
    assert grown.rise == pytest.approx(198)
    assert grown.scatter == pytest.approx(0, abs=1e-6)
    flat = Growth.of(times, [50 + (-1) ** int(at) * 3.0 for at in times])
    assert abs(flat.rise) < 1
    assert flat.scatter == pytest.approx(3, abs=0.1)


def test_the_first_part_of_a_long_run_is_left_out() -> None:
    point = {"tasks": 1, "threads": 1, "descriptors": 1}
    series: list[Json] = [
        {"at": at, "rss_kb": 100 if at >= 25 else at, **point} for at in range(100)
    ]
    assert growth(series, 0.25)["rss_kb"].rise == pytest.approx(0)
    assert growth(series, 0.0)["rss_kb"].rise > 10

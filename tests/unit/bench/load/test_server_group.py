"""Several server processes, asked as one."""

from __future__ import annotations

from vixio_bench.load.server_group import together


def test_one_answer_stays_what_it_is() -> None:
    answer = {"cpu": 1.5, "turns": [1]}
    assert together([answer]) is answer


def test_sums_lists_and_the_worst() -> None:
    lag = {"count": 10, "p50": 1.0, "p95": 2.0, "p99": 3.0, "max": 4.0}
    one = {
        "now": {"at": 10.0, "cpu": 1.0, "rss_kb": 100, "connected": 3, "lag_p99": 1.0},
        "cpu_by_thread": {"MainThread": 0.5, "encode": 0.1},
        "turns": [{"share": 1}],
        "loop_lag_ms": lag,
        "counters": {"a": 1},
    }
    other = {
        "now": {"at": 10.1, "cpu": 2.0, "rss_kb": 200, "connected": 4, "lag_p99": 7.0},
        "cpu_by_thread": {"MainThread": 0.25},
        "turns": [{"share": 2}, {"share": 3}],
        "loop_lag_ms": {**lag, "p95": 1.0, "max": 9.0},
        "counters": {"a": 1, "b": 2},
    }
    found = together([one, other])
    assert found["now"] == {
        "at": 10.1,
        "cpu": 3.0,
        "rss_kb": 300,
        "connected": 7,
        "lag_p99": 7.0,
    }
    assert found["cpu_by_thread"] == {"MainThread": 0.75, "encode": 0.1}
    assert [turn["share"] for turn in found["turns"]] == [1, 2, 3]
    assert found["loop_lag_ms"] == {"count": 20, "p50": 1.0, "p95": 2.0, "p99": 3.0, "max": 9.0}
    assert found["counters"] == {"a": 2, "b": 2}

"""Delays between attempts."""

from __future__ import annotations

import pytest

from vixio.core.backoff import Backoff


def test_delays_double_up_to_the_longest() -> None:
    backoff = Backoff(first=1.0, longest=5.0, jitter=0.0)
    assert [backoff.delay(failures) for failures in range(1, 6)] == [1, 2, 4, 5, 5]


def test_some_attempts_come_at_once() -> None:
    backoff = Backoff(first=0.5, longest=5.0, factor=3.0, immediate=2, jitter=0.0)
    assert [backoff.delay(failures) for failures in range(6)] == [0, 0, 0, 0.5, 1.5, 4.5]


def test_any_number_of_failures_has_a_delay() -> None:
    assert Backoff(first=1.0, longest=60.0, jitter=0.0).delay(10**9) == 60.0


def test_jitter_spreads_the_attempts() -> None:
    backoff = Backoff(first=10.0, longest=10.0, jitter=0.2)
    delays = [backoff.delay(1) for _ in range(200)]
    assert min(delays) == pytest.approx(8.0, abs=1.0)
    assert max(delays) == pytest.approx(12.0, abs=1.0)
    assert all(8.0 <= delay <= 12.0 for delay in delays)

"""The speed of a core, by a piece of work."""

from __future__ import annotations

import pytest

from vixio.composition import core_speed as module
from vixio.composition.core_speed import MOST_SHARED, PARTS, REFERENCE_S, core_speed


def test_the_speed_is_the_median_of_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([9.0, 0.002, 0.004, 0.004, 0.006, 50.0])
    monkeypatch.setattr(module, "_timed", lambda _: next(times))
    next(times)  # the first part is not counted: it may import
    found = core_speed(5)
    assert found.slowness == pytest.approx(0.004 * PARTS / REFERENCE_S)


def test_waiting_for_the_core_says_how_far_it_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([(1.0, 5.0), (1.5, 6.0), (2.0, 6.0), (3.0, 106.0)])
    monkeypatch.setattr(module, "of_thread", lambda: next(looks))
    monkeypatch.setattr(module, "_timed", lambda _: 0.002)
    assert core_speed(1).shared == pytest.approx(3.0)
    assert core_speed(1).shared == MOST_SHARED


def test_the_real_work_takes_its_time() -> None:
    found = core_speed(3)
    assert 0 < found.slowness < 1_000
    assert 1 <= found.shared <= MOST_SHARED

"""The wall clock of a process: the machine's, or one that was set."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from vixio.core import wall_clock
from vixio.core.wall_clock import WallClock


def test_it_follows_the_machine_until_it_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = WallClock()
    monkeypatch.setattr(time, "time", lambda: 1_000.0)
    assert clock.now() == 1_000.0
    monkeypatch.setattr(time, "time", lambda: 5.0)
    assert clock.now() == 5.0


def test_then_it_goes_on_whatever_the_machine_is_set_to(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = WallClock()
    awake = 70.0
    monkeypatch.setattr(wall_clock, "awake", lambda: awake)
    clock.set(1_000.0)
    monkeypatch.setattr(time, "time", lambda: 5.0)
    assert clock.now() == 1_000.0
    awake += 2.5
    assert clock.now() == 1_002.5
    clock.set(900.0)
    assert clock.now() == 900.0


def test_the_forms_of_the_time_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = WallClock()
    monkeypatch.setattr(wall_clock, "CLOCK", clock)
    monkeypatch.setattr(wall_clock, "awake", lambda: 1.0)
    clock.set(1_700_000_000.25)
    assert wall_clock.now_s() == 1_700_000_000.25
    assert wall_clock.now_ms() == 1_700_000_000_250
    assert wall_clock.date_time(UTC) == datetime(2023, 11, 14, 22, 13, 20, 250_000, tzinfo=UTC)
    assert wall_clock.date_time(None).timestamp() == 1_700_000_000.25

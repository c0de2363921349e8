"""The processor time of a process, as affinity and control groups leave it."""

from __future__ import annotations

import os

import pytest

from vixio.core import cores


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no affinity on this system")
@pytest.mark.parametrize(
    ("allowed", "limit", "time", "usable"),
    [
        (4, None, 4.0, 4),
        (4, 1.5, 1.5, 2),
        (4, 0.25, 0.25, 1),
        (2, 8.0, 2.0, 2),
    ],
)
def test_the_smaller_of_affinity_and_quota(
    monkeypatch: pytest.MonkeyPatch, allowed: int, limit: float | None, time: float, usable: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(allowed)))
    monkeypatch.setattr(cores, "_cpu_limit", lambda: limit)
    assert cores.processor_time() == time
    assert cores.usable_cores() == usable

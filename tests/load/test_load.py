"""The benchmark's short form: twenty devices in conversation, every turn answered, none crossed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vixio.bench.load.command import main

DEVICES = 20


@pytest.mark.load
@pytest.mark.slow
def test_twenty_devices_are_all_answered(tmp_path: Path) -> None:
    figures = tmp_path / "load.json"
    devices = ["--devices", str(DEVICES), "--generators", "1"]
    assert main(["--mix", "solo", *devices, "--hold", "8", "--json", str(figures)]) == 0
    (step,) = json.loads(figures.read_text(encoding="utf-8"))["steps"]
    counts = step["counts"]
    assert (
        counts.get("turns", 0) >= DEVICES // 4
    )  # those that began and ended within the eight seconds
    assert step["turns"] >= DEVICES
    assert step["connected"] == DEVICES
    assert step["trouble"] == []
    for mistake in ("lost", "late_turns", "crossed", "unheard", "not_listening", "violations"):
        assert counts.get(mistake, 0) == 0, mistake
    assert step["server_counters"].get("pacer.starved", 0) == 0
    assert step["share"]["count"] >= counts.get("turns", 0)
    assert step["share"]["p50"] < 1_000  # the machine may be busy; a turn of seconds is a defect
    assert counts.get("dropped", 0) == 0

"""The benchmark's short form: twenty devices in conversation, every turn answered, none crossed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vixio.bench.load.command import main

DEVICES = 20


@pytest.mark.load
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_twenty_devices_are_all_answered(tmp_path: Path) -> None:
    figures = tmp_path / "load.json"
    devices = ["--devices", str(DEVICES), "--generators", "1", "--turns", str(DEVICES)]
    arguments = ["--mix", "solo", *devices, "--hold", "4", "--json", str(figures)]
    assert main(arguments) == 0
    (step,) = json.loads(figures.read_text(encoding="utf-8"))["steps"]
    counts = step["counts"]
    assert step["turns"] >= DEVICES
    assert step["connected"] == DEVICES
    assert step["trouble"] == []
    for mistake in ("lost", "crossed", "unheard", "not_listening", "violations"):
        assert counts.get(mistake, 0) == 0, mistake
    # Times are for the benchmark on a quiet machine: here other tests run beside it.
    assert step["share"]["count"] >= DEVICES
    assert counts.get("dropped", 0) == 0


@pytest.mark.load
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_first_question_after_a_start_is_answered(tmp_path: Path) -> None:
    """The device asks as soon as it is greeted, long before the default set is loaded."""
    figures = tmp_path / "start.json"
    assert main(["--mix", "start", "--generators", "1", "--json", str(figures)]) == 0
    (step,) = json.loads(figures.read_text(encoding="utf-8"))["steps"]
    assert step["trouble"] == []  # no notice that it is still loading came before the answer
    assert step["seconds"]["first_answer"] > 0


@pytest.mark.load
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_real_providers_answer_over_http(tmp_path: Path) -> None:
    figures = tmp_path / "load.json"
    devices = ["--devices", "4", "--generators", "1", "--turns", "8", "--providers", "http"]
    assert main(["--mix", "converse", *devices, "--hold", "4", "--json", str(figures)]) == 0
    (step,) = json.loads(figures.read_text(encoding="utf-8"))["steps"]
    assert step["turns"] >= 8
    assert step["trouble"] == []
    assert {"lost", "crossed", "unheard"}.isdisjoint(step["counts"])
    assert step["answered"]["count"] > step["turns"]  # words, answer and voice of each
    assert {"agent", "listening"} <= set(step["work"])  # of the small parts there is no sample
    assert 0 < step["listening_cpu"] < 1

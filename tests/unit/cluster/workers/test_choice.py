"""How many processes ``--workers auto`` starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from vixio.cluster.workers.choice import SERVER_MB, Machine, choose, process_memory
from vixio.settings import Settings
from vixio.settings.sections import MAX_WORKERS

GB = 1024


@pytest.mark.parametrize(
    ("cores", "memory_mb", "process_mb", "processes"),
    [
        (1, 8 * GB, 250, 1),
        (2, 8 * GB, 250, 2),
        (4, 8 * GB, 250, 4),
        (0.5, 8 * GB, 250, 1),
        (1.5, 8 * GB, 250, 1),  # a second process would be throttled half of the time
        (3.9, 8 * GB, 250, 3),
        (4, None, 250, 4),
        (4, 1_500, 250, 3),  # half of the memory
        (4, 400, 250, 1),
        (4, 0, 250, 1),
        (8, 8 * GB, 1_750, 2),  # a model of its own in each
        (256, 1_000 * GB, 250, MAX_WORKERS),
    ],
)
def test_as_many_as_cores_and_memory_allow(
    cores: float, memory_mb: int | None, process_mb: int, processes: int
) -> None:
    assert choose(Machine("linux", cores, memory_mb), process_mb).processes == processes


@pytest.mark.parametrize("platform", ["darwin", "win32", "freebsd14"])
def test_one_where_connections_are_not_spread(platform: str) -> None:
    choice = choose(Machine(platform, 8, 16 * GB), 250)
    assert choice.processes == 1
    assert "Linux" in choice.reason
    assert platform in choice.reason


def test_the_reason_names_what_decided() -> None:
    assert choose(Machine("linux", 4, 8 * GB), 250).reason == "4 cores"
    assert choose(Machine("linux", 1, 8 * GB), 250).reason == "1 core"
    assert choose(Machine("linux", 1.5, 8 * GB), 250).reason == "1.5 cores"
    short = choose(Machine("linux", 4, 1_000), 250).reason
    assert "4 cores" in short
    assert "1000 MB" in short
    assert "250 MB" in short


def test_this_machine_is_found() -> None:
    machine = Machine.find()
    assert machine.cores > 0
    assert choose(machine, SERVER_MB).processes >= 1


def test_each_distinct_model_counts_once(tmp_path: Path) -> None:
    model = tmp_path / "voice.onnx"
    model.write_bytes(bytes(64 * 1024 * 1024))
    voice = {"name": "piper", "model": str(model)}
    small = process_memory(Settings())
    assert small > SERVER_MB
    espeak = {"name": "espeak"}
    one = process_memory(Settings.model_validate({"tts": [voice, espeak]}))
    assert one >= small + 64
    devices = {"aa:*": {"tts": voice}, "bb:*": {"tts": {**voice, "speaker": "2"}}}
    two = process_memory(Settings.model_validate({"tts": [voice, espeak], "devices": devices}))
    assert two - one == one - small

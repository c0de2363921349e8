"""The benchmark of recognisers: what it compares, and a short run of the default one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from vixio_bench.speech import main
from vixio_bench.speech_corpus import load_corpus
from vixio_bench.speech_sets import (
    SETS,
    bench_set,
    disk_mb,
    distance,
    processes_mb,
    section,
    set_table,
    units,
)


@pytest.mark.parametrize(
    ("meant", "heard", "errors"),
    [
        ("what's the time", "What's the time?", 0),
        ("set it to ten percent", "Set it to ten%.", 0),
        ("turn on the lamp", "turn the lamp", 1),
        ("turn on the lamp", "", 4),
        ("", "turn on", 2),
        ("今天天气怎么样", "今天天气怎么样？", 0),
        ("今天天气怎么样", "今天天很怎么样", 1),
    ],
)
def test_words_and_characters_are_compared(meant: str, heard: str, errors: int) -> None:
    assert distance(units(meant), units(heard)) == errors


def test_sizes_are_those_of_what_is_there() -> None:
    assert disk_mb("pocketsphinx") > 10
    assert disk_mb("no-such-provider") == 0
    assert processes_mb() > 10


def test_every_set_is_a_valid_section() -> None:
    for name in SETS:
        assert section(name, None).name == SETS[name]["name"]


@pytest.mark.slow
async def test_a_handful_of_sentences() -> None:
    two = replace(load_corpus("held-out"), speakers=load_corpus("held-out").speakers[:2])
    report = await bench_set(section("offline", None), two, limit=3, latency_samples=1)
    assert report.commands == report.free == 3 * 2
    assert report.right >= 0.5 * report.commands
    assert report.error_rate >= 0.5, "it knows no other words than those of commands"
    assert report.latency_p50 > 0
    assert report.memory > 10
    shown = set_table(report, errors=True)
    assert "commands" in shown
    assert "not as said" in shown


def test_a_mistake_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    with pytest.raises(SystemExit):
        main(["--set", "no-such-set"])
    assert "offline, moonshine" in capsys.readouterr().err
    assert main(["--config", str(tmp_path_factory.mktemp("x") / "none.yaml")]) == 1
    assert capsys.readouterr().err.count("\n") == 1

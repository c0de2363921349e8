"""What is shown at the end."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from vixio_bench.load import report
from vixio_bench.load.command import main
from vixio_bench.load.figures import Growth, Result
from vixio_bench.load.marks import judge
from vixio_bench.load.plot import nice_step, write_plot
from vixio_bench.load.usage import Spread

RESULTS = [
    Result(
        "talk",
        devices,
        hold=30,
        turns=90,
        share=Spread(90, ms, 2 * ms, 3 * ms, 4 * ms),
        server_cpu=devices / 200,
        generator_cpu=0.1,
        counts={"turns": 90, "frames": 4_000},
    )
    for devices, ms in ((50, 4.0), (100, 9.0), (200, 41.0))
]


def test_the_table_has_a_column_for_each_step() -> None:
    lines = report.table(RESULTS).splitlines()
    devices = next(line for line in lines if line.startswith("devices"))
    assert devices.split()[1:] == ["50", "100", "200"]
    share = next(line for line in lines if line.startswith("share"))
    assert "41 / 82 / 123" in share
    assert not any(line.startswith("capture") for line in lines)  # it was not measured


def test_what_grew_in_a_long_run_is_shown() -> None:
    table = report.table([Result("churn", 5, growth={"tasks": Growth(12.0, 3.0, 90.0)})])
    assert "+12 ± 3" in table


def test_a_limit_of_the_generator_is_told_loudly() -> None:
    tired = Result("listen", 9, generator_limits=["a generator's loop ran 80 ms late (p99)"])
    (line,) = report.warnings([tired])
    assert "GENERATOR WAS THE LIMIT" in line
    assert "80 ms" in line


def test_other_work_on_the_machine_is_told() -> None:
    assert report.warnings([Result("talk", 3, others=0.1)]) == []
    (line,) = report.warnings([Result("talk", 3, others=2.3)])
    assert "other work took 2.3" in line


def test_json_holds_all_figures_and_marks() -> None:
    body = json.loads(report.as_json(RESULTS, judge(RESULTS), ["--mix", "talk"]))
    assert [step["devices"] for step in body["steps"]] == [50, 100, 200]
    assert body["steps"][2]["share"]["p95"] == 82.0
    assert body["command"] == ["vixio", "bench", "load", "--mix", "talk"]
    assert any(mark["ok"] is True for mark in body["marks"])


def test_the_plot_is_an_svg_whose_curves_rise(tmp_path: Path) -> None:
    path = tmp_path / "load.svg"
    write_plot(RESULTS, path, "load <1>")
    root = ElementTree.fromstring(path.read_text(encoding="utf-8"))  # noqa: S314 - our own file
    lines = [line.attrib["points"] for line in root.iter("{http://www.w3.org/2000/svg}polyline")]
    assert len(lines) == 4  # two latencies, two processor shares
    for points in lines[:3]:
        heights = [float(point.split(",")[1]) for point in points.split()]
        assert heights == sorted(heights, reverse=True)  # y runs downwards


def test_the_plot_refuses_another_format(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"load\.svg"):
        write_plot(RESULTS, tmp_path / "load.png", "")


@pytest.mark.parametrize(("most", "step"), [(1.0, 0.2), (87, 20), (430, 100), (0.004, 0.001)])
def test_axes_have_round_steps(most: float, step: float) -> None:
    assert nice_step(most) == pytest.approx(step)


@pytest.mark.parametrize(
    "argv",
    [
        ["--mix", "dance"],
        ["--devices", "0"],
        ["--mix", "slow", "--devices", "2"],
        ["--workers", "0"],
        ["--workers", "many"],
        ["--set", "gather=3"],
        ["--tune", "wishing"],
        ["--plot", "x.png"],
        ["--pin", "--server-cores", "4096"],
    ],
)
def test_a_wrong_request_is_one_line(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    said = capsys.readouterr().err
    assert said.startswith("vixio bench load: ")
    assert said.count("\n") == 1

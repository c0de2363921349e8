"""The benchmark of several nodes, in a short form: real processes and a real NATS server."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.nats_nodes import only_here
from vixio.composition.core_speed import CoreSpeed
from vixio_bench.load import nodes, runner
from vixio_bench.load.command import main
from vixio_bench.load.control import Hub
from vixio_bench.load.mixes import MIXES
from vixio_bench.load.options import Options
from vixio_bench.load.runner import Step

DEVICES = 6

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure for a shorter time than is good for figures: none is checked but that it is there."""
    only_here()
    monkeypatch.setattr(runner, "SETTLE_S", 0.5)
    monkeypatch.setattr(runner, "ALL_TALK_S", 2.0)
    monkeypatch.setattr(nodes, "IDLE_S", 3.0)  # one sign of life at least


@pytest.fixture
def known_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the speed of this machine for known."""

    async def calibrate(cores: int) -> CoreSpeed:
        return CoreSpeed(1.0, 1.0)

    monkeypatch.setattr(runner, "calibrate", calibrate)


async def test_the_devices_of_a_killed_node_talk_to_the_others() -> None:
    mix = replace(MIXES["converse"], quiet=1.0)
    options = Options(
        generators=1,
        hold=6.0,
        turns=3 * DEVICES,
        processes=3,
        idle=1.0,
        speed=CoreSpeed(1.0, 1.0),
        nodes=3,
        kill=True,
    )
    async with Hub() as hub:
        result = await Step(hub, mix, DEVICES, options, lambda _: None).run()
    killed = result.killed
    assert killed is not None
    assert killed.devices == DEVICES // 3
    assert killed.greeted.count == killed.devices
    assert killed.greeted.max > 0
    assert killed.answered == killed.devices
    assert killed.share_others.count > 0
    assert killed.cut <= killed.devices
    assert result.connected == DEVICES
    assert result.counts["dropped"] == killed.devices
    assert result.trouble == []
    for mistake in ("lost", "crossed", "unheard", "not_listening", "violations"):
        assert result.counts.get(mistake, 0) == 0, mistake


@pytest.mark.usefixtures("known_speed")
def test_one_process_one_node_and_two_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = tmp_path / "load.json"
    arguments = ["--nodes", "2", "--mix", "listen", "--devices", "4", "--generators", "1"]
    assert main([*arguments, "--hold", "2", "--json", str(figures)]) == 0
    steps = json.loads(figures.read_text(encoding="utf-8"))["steps"]
    assert [step["nodes"] for step in steps] == [0, 1, 2]
    assert [step["processes"] for step in steps] == [1, 1, 2]
    assert all(step["connected"] == 4 for step in steps)
    assert steps[0]["bus"] is None
    for step in steps[1:]:
        bus = step["bus"]
        assert list(bus["phases"]) == ["idle", "connecting", "measuring"]
        assert bus["phases"]["idle"]["in_msgs"] > 0  # signs of life
        connecting = bus["phases"]["connecting"]
        assert connecting["in_msgs"] * connecting["seconds"] >= 4  # a claim for each device
        assert bus["rss"] > 0
    printed = capsys.readouterr().out
    assert "listen, 4 devices, one node of a cluster against one process without" in printed
    assert "listen, 4 devices, 2 nodes against one" in printed

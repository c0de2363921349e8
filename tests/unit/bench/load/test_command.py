"""The options of the command, and the server's settings that they lead to."""

from __future__ import annotations

import argparse
from dataclasses import replace

import pytest

from vixio.cluster.workers.choice import SERVER_MB, Machine, choose
from vixio_bench.load.command import _parser, _processes, _settings, _steps
from vixio_bench.load.control import Line
from vixio_bench.load.marks import SERIES
from vixio_bench.load.mixes import MIXES
from vixio_bench.load.processes import Cores, usable_cores
from vixio_bench.load.providers import Delays
from vixio_bench.load.server import ServerPlan
from vixio_bench.load.server import _settings as server_settings

PLAN = ServerPlan(Line(1, "token", "server"), port=0, delays=Delays(asr=0.1), tune=("gc-off",))


def parsed(*argv: str) -> argparse.Namespace:
    return _parser().parse_args(argv)


def test_every_mix_runs_with_every_number_asked_for() -> None:
    steps = _steps(parsed("--mix", "listen,talk", "--devices", "5,10", "--ramp", "2"))
    assert [(step.mix.name, step.devices, step.ramp) for step in steps] == [
        ("listen", 5, 2.0),
        ("listen", 10, 2.0),
        ("talk", 5, 2.0),
        ("talk", 10, 2.0),
    ]


def test_a_mix_brings_its_own_number() -> None:
    (step,) = _steps(parsed("--mix", "speak"))
    assert step.devices == MIXES["speak"].devices


@pytest.mark.parametrize("cores", [1, 4])
def test_check_alone_runs_what_the_machine_can(cores: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vixio_bench.load.command.usable_cores", lambda: tuple(range(cores)))
    steps = _steps(parsed("--check"))
    assert [asked.devices for asked in steps] == [each.devices for each in SERIES]
    assert [asked.cores for asked in steps] == [each.cores for each in SERIES]
    assert any(asked.pinned for asked in steps) == (cores == 4)


def test_changes_of_settings_are_read_as_yaml_has_them() -> None:
    changes = ["vad.gather_ms=20", "server.limits.loop_lag_ms=0", "assistant.language=de"]
    assert _settings(changes) == {
        "vad": {"gather_ms": 20},
        "server": {"limits": {"loop_lag_ms": 0}},
        "assistant": {"language": "de"},
    }


def test_a_plan_survives_its_way_to_the_process() -> None:
    plan = replace(PLAN, cores=(0, 2), settings={"output": {"frame_ms": 20}})
    assert ServerPlan.from_json(plan.to_json()) == plan


def test_only_the_limits_per_address_are_lifted() -> None:
    limits = server_settings(PLAN).server.limits
    assert (limits.connections_per_address, limits.connects_per_address) == (0, 0)
    assert limits.connects_per_device > 0
    assert limits.loop_lag_ms > 0


def test_changed_settings_reach_the_server_beside_its_own() -> None:
    changes = {
        "output": {"opus_complexity": 0},
        "server": {"limits": {"loop_lag_ms": 0}},
    }
    settings = server_settings(replace(PLAN, settings=changes))
    assert settings.output.opus_complexity == 0
    assert settings.server.limits.loop_lag_ms == 0
    assert settings.server.limits.connects_per_address == 0
    assert settings.server.host == "127.0.0.1"


def test_auto_is_what_the_product_chooses() -> None:
    assert _processes("auto", Cores()) == choose(Machine.find(), SERVER_MB).processes
    assert _processes("auto", Cores(server=(0,))) == 1
    assert _processes("3", Cores(server=(0,))) == 3


@pytest.mark.skipif(len(usable_cores()) < 2, reason="needs two cores")
def test_pinning_gives_each_core_to_one_side() -> None:
    cores = Cores.split(pinned=True, server=1)
    assert len(cores.server) == 1
    assert sorted((*cores.server, *cores.generators)) == list(usable_cores())
    assert Cores.split(pinned=False, server=1) == Cores()
    with pytest.raises(ValueError, match="too few"):
        Cores.split(pinned=True, server=len(usable_cores()))

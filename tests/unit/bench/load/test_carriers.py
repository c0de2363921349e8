"""The comparison of the WebSocket with MQTT and UDP: what is asked for, run and judged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from firmware_test_client import DeviceConfig
from vixio_bench.load import carriers
from vixio_bench.load.command import _for_step, _parser, _steps, main
from vixio_bench.load.conclusion import conclusion
from vixio_bench.load.figures import Result
from vixio_bench.load.marks import judge
from vixio_bench.load.options import Options
from vixio_bench.load.report import table
from vixio_bench.load.usage import Spread

TALK = Result(
    "talk", 50, connected=50, cpu_per_device=0.010, share=Spread(9, 10.0, 20.0, 20.0, 20.0)
)
OVER_MQTT = replace(
    TALK, carrier="mqtt", cpu_per_device=0.011, share=Spread(9, 9.0, 22.0, 22.0, 22.0)
)
IDLE = Result(
    "idle",
    1_000,
    connected=1_000,
    carrier="mqtt",
    cpu_per_device=0.0001,
    memory_per_device=48.0,
)


def test_each_step_runs_by_both() -> None:
    asked = _steps(_parser().parse_args(["--mix", "talk", "--devices", "5,10"]))
    steps = [replace(step, carrier=way) for step in asked for way in ("websocket", "mqtt")]
    assert [_for_step(Options(), step).carrier for step in steps] == ["websocket", "mqtt"] * 2


@pytest.mark.parametrize("other", ["--registered 9", "--watched", "--nodes 2"])
def test_one_comparison_at_a_time(other: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--carrier", "both", *other.split()]) == 2
    said = capsys.readouterr().err
    assert said == "vixio bench load: --carrier both: one comparison at a time\n"


def test_a_device_goes_where_the_url_says() -> None:
    mqtt = DeviceConfig(**carriers.address("mqtt://127.0.0.1:1883", "02:00:00:00:00:01", "c")).mqtt
    assert mqtt is not None
    assert (mqtt.endpoint, mqtt.publish_topic) == ("127.0.0.1:1883", "vixio/up/02:00:00:00:00:01")
    config = DeviceConfig(**carriers.address("ws://127.0.0.1:1/", "02:00:00:00:00:01", "c"))
    assert config.ws_url == "ws://127.0.0.1:1/"
    back = replace(config, **carriers.address("mqtt://127.0.0.1:2", "02:00:00:00:00:01", "c"))
    assert back.ws_url is None


def test_the_ratios_and_an_idle_device_are_said() -> None:
    assert carriers.said([TALK, OVER_MQTT, IDLE]).splitlines() == [
        (
            "talk, 50 devices, MQTT against WebSocket: CPU of a device x1.10, "
            "share of a turn p50 x0.90, p95 x1.10"
        ),
        "idle, 1000 devices, mqtt: 48.0 KB and 0.000100 of a core each",
    ]
    assert "carrier" in table([TALK, OVER_MQTT])
    assert "talk, 50 devices, mqtt: " in conclusion([OVER_MQTT], [])


@pytest.mark.parametrize(
    ("talking", "idle", "reached"),
    [
        ({}, {}, (True, True)),
        ({"cpu_per_device": 0.0121}, {}, (False, True)),
        ({}, {"memory_per_device": 60.1}, (True, False)),
        ({}, {"cpu_per_device": 0.00021}, (True, False)),
        ({}, {"memory_per_device": 0.0}, (True, False)),
        ({}, {"connected": 990}, (True, None)),
        ({"devices": 60}, {}, (None, True)),
    ],
)
def test_the_marks(
    talking: dict[str, float], idle: dict[str, float], reached: tuple[bool | None, bool | None]
) -> None:
    results = [TALK, replace(OVER_MQTT, **talking), replace(IDLE, **idle)]  # type: ignore[arg-type]
    found = carriers.judge(results)
    assert tuple(verdict.ok for verdict in found) == reached


def test_the_middle_one_of_several_pairs_decides() -> None:
    slow = replace(OVER_MQTT, cpu_per_device=0.02)
    good, _ = carriers.judge([TALK, OVER_MQTT, TALK, slow, TALK, OVER_MQTT])
    bad, _ = carriers.judge([TALK, slow, TALK, slow, TALK, OVER_MQTT])
    assert (good.ok, bad.ok) == (True, False)


def test_the_websockets_marks_are_not_judged_by_mqtt() -> None:
    result = Result("listen", 200, connected=200, carrier="mqtt", cpu_per_device=0.001)
    assert all(verdict.ok is None for verdict in judge([result]))

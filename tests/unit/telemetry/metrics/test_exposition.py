"""The page of metrics, read back by prometheus_client's own parsers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import cast

import pytest
from prometheus_client import parser
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics import parser as openmetrics

from vixio.core.metrics import Counters, ModelUse, ToolTiming, TurnTimeline
from vixio.core.readiness import Readiness
from vixio.core.session.events import TurnEnded
from vixio.telemetry.metrics.catalogue import ALL
from vixio.telemetry.metrics.counts import Sources
from vixio.telemetry.metrics.exposition import ServerMetrics, render
from vixio.telemetry.metrics.labels import MAX_VALUES, OTHER

DEVICE = "02:00:00:00:00:01"
GAUGES = {
    "connected": 2,
    "sessions": 1,
    "handshakes": 1,
    "loop_lag_ms": 1.5,
    "capacity": 120,
    "overloaded": False,
    "nodes": 3,
}


def server(counters: Counters | None = None) -> ServerMetrics:
    readiness = Readiness()
    readiness.add("ports", lambda: "")
    readiness.add("database", lambda: "does not answer")
    lists = {"asr": [{"provider": "openai", "failed": 3}, {"provider": "funasr", "failed": 0}]}
    servers = [
        {"kind": "tts", "provider": "openai", "server": host, "state": state, "pending": 2}
        for host, state in (("one:1", "ready"), ("two:2", "open"), ("one:1", "ready"))
    ]
    sources = (lambda: GAUGES, lambda: lists, lambda: servers)
    return ServerMetrics(Sources(counters or Counters(), readiness, *sources))


def ended(timeline: TurnTimeline) -> TurnEnded:
    return TurnEnded(DEVICE, "session", 10.0, timeline.turn_id, timeline)


# The library does not annotate this one.
_families = cast("Callable[[str], Iterable[Metric]]", openmetrics.text_string_to_metric_families)


def read(metrics: list[dict[str, object]], accept: str = "") -> dict[str, Metric]:
    page, content_type = render(metrics, accept)
    text = page.decode()
    assert DEVICE not in text
    if accept:
        assert content_type.startswith(accept.partition(";")[0])
        return {each.name: each for each in _families(text)}
    assert content_type.startswith("text/plain")
    return {each.name: each for each in parser.text_string_to_metric_families(text)}


def value(metrics: dict[str, Metric], sample: str, **labels: str) -> float:
    (found,) = [
        each.value
        for metric in metrics.values()
        for each in metric.samples
        if each.name == sample and each.labels == labels
    ]
    return float(found)


@pytest.mark.parametrize("accept", ["", "application/openmetrics-text; version=1.0.0"])
def test_a_turn_is_counted_by_its_record(accept: str) -> None:
    metrics = server()
    timeline = TurnTimeline(1, {"turn_end": 5.0, "transcript": 4.9, "first_frame": 5.25})
    timeline.tools = [
        ToolTiming("self.lamp.on", 0.2, True, "device"),
        ToolTiming("lamp_7", 0.0, False, ""),
    ]
    timeline.models = [ModelUse("openai/big", 100, 20, 60, ("openai/small",))]
    metrics(ended(timeline))
    metrics(ended(TurnTimeline(2, {"first_frame": 9.0})))  # unasked
    apology = {"turn_end": 5.0, "first_frame": 9.0}
    metrics(ended(TurnTimeline(3, apology, outcome="failed:timeout")))
    found = read([metrics.status()], accept)
    seconds = "vixio_turn_stage_seconds"
    assert value(found, f"{seconds}_count", stage="first_frame") == 1
    assert value(found, f"{seconds}_bucket", stage="first_frame", le="0.2") == 0
    assert value(found, f"{seconds}_bucket", stage="first_frame", le="0.3") == 1
    assert value(found, f"{seconds}_sum", stage="transcript") == 0
    assert value(found, f"{seconds}_count", stage="first_token") == 0
    assert value(found, "vixio_tool_calls_total", source="device", outcome="ok") == 1
    assert value(found, "vixio_tool_calls_total", source="none", outcome="failed") == 1
    assert value(found, "vixio_tool_call_seconds_sum", source="device") == 0.2
    for name, expected in (("input", 100), ("cached", 60), ("output", 20)):
        assert value(found, f"vixio_model_{name}_tokens_total", model="openai/big") == expected
    assert value(found, "vixio_model_calls_total", model="openai/big") == 1
    assert value(found, "vixio_model_passed_over_total", model="openai/small") == 1
    assert "lamp" not in render([metrics.status()], accept)[0].decode()


def test_counters_and_gauges_are_read_at_the_scrape() -> None:
    counters = Counters()
    metrics = server(counters)
    assert value(read([metrics.status()]), "vixio_sessions_opened_total") == 0
    for name in ("session.opened", "turn.outcome.answered", "vad.failed"):
        counters.add(name, 2)
    counters.add("provider.errors.tts.edge.network")
    found = read([metrics.status()])
    assert value(found, "vixio_sessions_opened_total") == 2
    assert value(found, "vixio_turns_total", outcome="answered") == 2
    assert value(found, "vixio_events_total", event="vad.failed") == 2
    labels = {"kind": "tts", "provider": "edge", "reason": "network"}
    assert value(found, "vixio_provider_errors_total", **labels) == 1
    assert value(found, "vixio_fallback_failures_total", kind="asr", provider="openai") == 3
    first, second = ({"kind": "tts", "provider": "openai", "server": s} for s in ("one:1", "two:2"))
    assert value(found, "vixio_provider_server_up", **first) == 1
    assert value(found, "vixio_provider_server_up", **second) == 0
    # Two profiles whose options differ have the same server twice.
    assert value(found, "vixio_provider_server_pending", **first) == 4
    assert value(found, "vixio_devices_connected") == 2
    assert value(found, "vixio_event_loop_lag_seconds") == 0.0015
    assert value(found, "vixio_capacity_devices") == 120
    assert value(found, "vixio_ready", check="ports") == 1
    assert value(found, "vixio_ready", check="database") == 0


def test_what_is_listed_is_what_there_is() -> None:
    found = read([server().status()])
    own = {name for name in found if name.startswith("vixio_")}
    assert own == {spec.name.removesuffix("_total") for spec in ALL}
    assert {name.partition("_")[0] for name in found} <= {"vixio", "process"}
    assert not [name for name in found if name.endswith("_created")]
    types = {spec.name.removesuffix("_total"): spec.type for spec in ALL}
    assert {name: found[name].type for name in own} == types


def test_several_processes_keep_their_samples_apart() -> None:
    one, two = Counters(), Counters()
    one.add("http.ota", 3)
    two.add("http.ota", 4)
    statuses = [
        {**server(one).status(), "worker": 1, "pid": 10},
        {**server(two).status(), "worker": 2, "pid": 20},
        {"worker": 3, "pid": 30},  # has not loaded yet
    ]
    json.dumps(statuses)  # they come from other processes
    found = read(statuses)
    assert value(found, "vixio_ota_requests_total", worker="1") == 3
    assert value(found, "vixio_ota_requests_total", worker="2") == 4
    assert {each.labels["worker"] for metric in found.values() for each in metric.samples} == {
        "1",
        "2",
    }


def test_inventions_of_a_model_or_a_caller_do_not_grow_it() -> None:
    metrics = server()
    for number in range(3 * MAX_VALUES):
        timeline = TurnTimeline(number)
        timeline.tools = [ToolTiming(f"tool_{number}", 0.1, True, f"source_{number}")]
        metrics(ended(timeline))
    samples = read([metrics.status()])["vixio_tool_calls"].samples
    assert len(samples) == MAX_VALUES + 1
    other = [each.value for each in samples if each.labels["source"] == OTHER]
    assert other == [2 * MAX_VALUES]


def test_the_report_of_a_process_stays_small() -> None:
    """64 of them fit into one message between the processes."""
    counters = Counters()
    for number in range(2_000):
        counters.add(f"some.counter.of.a.long.name.{number}", number)
    metrics = server(counters)
    for number in range(200):
        timeline = TurnTimeline(number)
        timeline.tools = [ToolTiming("t", 0.1 * number, True, f"a source of tools {number}")]
        timeline.models = [ModelUse(f"openai/some model {number}", number, number)]
        metrics(ended(timeline))
    assert len(json.dumps(metrics.status())) < 32 * 1024

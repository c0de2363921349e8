"""The list of metrics: as documented, and held to a bounded number of time series."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vixio.telemetry.metrics import catalogue
from vixio.telemetry.metrics.catalogue import ALL, Spec
from vixio.telemetry.metrics.counts import classify
from vixio.telemetry.metrics.labels import OTHER, Bounded

ROOT = Path(__file__).resolve().parents[4]


def documented() -> list[tuple[str, str, tuple[str, ...]]]:
    """Return name, type and labels of each metric in the table of the document."""
    text = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in text.splitlines() if line.startswith("| `vixio_")]
    return [
        (name.strip().strip("`"), kind.strip(), tuple(re.findall(r"`(\w+)`", labels)))
        for _, name, kind, labels, *_ in rows
    ]


def test_the_document_lists_what_there_is() -> None:
    assert documented() == [(spec.name, spec.type, spec.labels) for spec in ALL]


def test_every_metric_is_in_the_list() -> None:
    defined = [each for each in vars(catalogue).values() if isinstance(each, Spec)]
    assert sorted(defined, key=lambda spec: spec.name) == sorted(ALL, key=lambda spec: spec.name)


def test_names_follow_the_conventions() -> None:
    for spec in ALL:
        assert spec.name.startswith("vixio_")
        assert spec.name.endswith("_total") is (spec.type == "counter")
        assert bool(spec.buckets) is (spec.type == "histogram")
        assert list(spec.buckets) == sorted(set(spec.buckets))


@pytest.mark.parametrize(
    ("counter", "metric", "labels"),
    [
        ("session.opened", catalogue.CONNECTIONS, ()),
        ("http.ota", catalogue.OTA, ()),
        ("http.ota.too_large", catalogue.EVENTS, ("http.ota.too_large",)),
        ("turn.outcome.answered", catalogue.TURNS, ("answered",)),
        ("turn.failed.asr", catalogue.TURN_FAILURES, ("asr",)),
        ("turn.failed", catalogue.EVENTS, ("turn.failed",)),
        ("provider.errors.asr.openai.busy", catalogue.PROVIDER_ERRORS, ("asr", "openai", "busy")),
        ("provider.errors.tts.a.b.no_key", catalogue.PROVIDER_ERRORS, ("tts", "a.b", "no_key")),
        ("provider.refused", catalogue.EVENTS, ("provider.refused",)),
        ("admission.limited.full", catalogue.REFUSALS, ("admission", "full")),
        ("xiaozhi.refused.hello.timeout", catalogue.REFUSALS, ("xiaozhi", "hello.timeout")),
        ("xiaozhi.limited.too_much_audio", catalogue.DROPPED, ("audio_over_limit",)),
        ("cluster.stalls", catalogue.STALLS, ()),
        ("cluster.messages.secret", catalogue.MESSAGES, ("secret",)),
        ("cluster.claims.moved", catalogue.CLAIMS, ("moved",)),
        ("pacer.starved", catalogue.DROPPED, ("late_audio",)),
    ],
)  # fmt: skip
def test_each_counter_has_one_metric(counter: str, metric: Spec, labels: tuple[str, ...]) -> None:
    assert classify(counter) == (metric, labels)
    assert len(labels) == len(metric.labels)


@pytest.mark.parametrize("counter", ["tool.device.calls", "tool.home.us", "model.answers.openai/m"])
def test_what_the_metrics_of_turns_have_is_not_there_twice(counter: str) -> None:
    assert classify(counter) is None


def test_a_label_has_a_bounded_number_of_values() -> None:
    bounded = Bounded(2)
    assert [bounded(each) for each in ("a", "b", "c", "a", "d")] == ["a", "b", OTHER, "a", OTHER]
    assert len(Bounded()("x" * 1_000)) == 100

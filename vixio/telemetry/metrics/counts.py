"""Metrics of what the server counts and measures anyway, read when it is scraped."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from vixio import __version__
from vixio.core.metrics import PROVIDER_ERRORS, Counters
from vixio.core.readiness import Readiness
from vixio.telemetry.metrics import catalogue
from vixio.telemetry.metrics.catalogue import Spec
from vixio.telemetry.metrics.labels import Bounded

MAX_EVENTS: Final = 500
"""Names of counters; the code has some 150, and as many as there are sources of tools."""

Labels = tuple[str, ...]

DROPS: Final = {
    "asr.audio_dropped": "audio_to_asr",
    "session.audio_ignored": "audio_while_deaf",
    "xiaozhi.limited.too_much_audio": "audio_over_limit",
    "xiaozhi.limited.too_many_messages": "messages_over_limit",
    "xiaozhi.limited.too_many_fragments": "fragments_over_limit",
    "xiaozhi.ignored.bad_opus": "bad_opus",
    "xiaozhi.ignored.bad_pcm": "bad_pcm",
    "pacer.starved": "late_audio",
}
"""Counters of what was dropped, and their names as a label."""

FIXED: Final = {
    "session.opened": catalogue.CONNECTIONS,
    "http.ota": catalogue.OTA,
    "cluster.stalls": catalogue.STALLS,
}

LABELLED: Final = {
    ("turn", "outcome"): catalogue.TURNS,
    ("turn", "failed"): catalogue.TURN_FAILURES,
    ("cluster", "messages"): catalogue.MESSAGES,
    ("cluster", "claims"): catalogue.CLAIMS,
}
"""Counters whose third part is the value of a label."""

COUNTED: Final = (
    catalogue.MESSAGES,
    catalogue.STALLS,
    catalogue.CLAIMS,
    catalogue.CONNECTIONS,
    catalogue.TURNS,
    catalogue.TURN_FAILURES,
    catalogue.PROVIDER_ERRORS,
    catalogue.DROPPED,
    catalogue.REFUSALS,
    catalogue.OTA,
    catalogue.EVENTS,
)


@dataclass(frozen=True, slots=True)
class Sources:
    """What is read at a scrape. ``gauges``: those of the health page; ``fallbacks``: the states of
    the lists of providers by kind; ``servers``: those of providers that have several."""

    counters: Counters
    readiness: Readiness
    gauges: Callable[[], Mapping[str, Any]]
    fallbacks: Callable[[], Mapping[str, Iterable[Mapping[str, Any]]]]
    servers: Callable[[], Iterable[Mapping[str, Any]]]


def classify(name: str) -> tuple[Spec, Labels] | None:
    """Return the metric of a counter, and the values of its labels.

    None: the metrics of turns have it, with more labels.
    """
    if (fixed := FIXED.get(name)) is not None:
        return fixed, ()
    if (what := DROPS.get(name)) is not None:
        return catalogue.DROPPED, (what,)
    if name.startswith(PROVIDER_ERRORS):
        kind, _, rest = name.removeprefix(PROVIDER_ERRORS).partition(".")
        provider, _, reason = rest.rpartition(".")
        return catalogue.PROVIDER_ERRORS, (kind, provider, reason)
    match name.split(".", 2):
        case [area, what, value] if (labelled := LABELLED.get((area, what))) is not None:
            return labelled, (value,)
        case [area, "refused" | "limited", reason]:
            return catalogue.REFUSALS, (area, reason)
        case ["model", _, _] | ["tool", _, "calls" | "us"]:
            return None
    return catalogue.EVENTS, (name,)


class CountCollector(Collector):
    """Counters and gauges of one server."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._event = Bounded(MAX_EVENTS)

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """Yield all families, those without samples as well."""
        yield from self._gauges()
        yield from self._counts()
        yield self._fallbacks()
        yield from self._servers()

    def _gauges(self) -> Iterator[GaugeMetricFamily]:
        sources = self._sources
        gauges = sources.gauges()
        yield _gauge(catalogue.BUILD, {(__version__, platform.python_version()): 1})
        ready: dict[Labels, float] = {
            (each.name,): float(each.ok) for each in sources.readiness.results()
        }
        yield _gauge(catalogue.READY, ready)
        yield _gauge(catalogue.DEVICES, {(): gauges["connected"]})
        yield _gauge(catalogue.SESSIONS, {(): gauges["sessions"]})
        yield _gauge(catalogue.HANDSHAKES, {(): gauges["handshakes"]})
        yield _gauge(catalogue.LOOP_LAG, {(): gauges["loop_lag_ms"] / 1000})
        yield _gauge(catalogue.OVERLOADED, {(): float(gauges["overloaded"])})
        yield _gauge(catalogue.CAPACITY, {(): gauges["capacity"]} if "capacity" in gauges else {})
        yield _gauge(catalogue.NODES, {(): gauges["nodes"]} if "nodes" in gauges else {})

    def _counts(self) -> Iterator[CounterMetricFamily]:
        counts: dict[Spec, dict[Labels, float]] = {spec: {} for spec in COUNTED}
        counts[catalogue.CONNECTIONS][()] = counts[catalogue.OTA][()] = 0
        for name, count in self._sources.counters.snapshot().items():
            if (found := classify(name)) is None:
                continue
            spec, labels = found
            if spec is catalogue.EVENTS:
                labels = (self._event(name),)
            samples = counts[spec]
            samples[labels] = samples.get(labels, 0) + count
        for spec, samples in counts.items():
            yield _counter(spec, samples)

    def _fallbacks(self) -> CounterMetricFamily:
        failed: dict[Labels, float] = {}
        for kind, states in self._sources.fallbacks().items():
            for state in states:
                labels = (kind, str(state["provider"]))
                failed[labels] = failed.get(labels, 0) + state["failed"]
        return _counter(catalogue.FALLBACKS, failed)

    def _servers(self) -> Iterator[GaugeMetricFamily]:
        up: dict[Labels, float] = {}
        pending: dict[Labels, float] = {}
        for state in self._sources.servers():
            labels = (str(state["kind"]), str(state["provider"]), str(state["server"]))
            up[labels] = float(state["state"] == "ready")
            pending[labels] = pending.get(labels, 0) + state["pending"]
        yield _gauge(catalogue.SERVERS, up)
        yield _gauge(catalogue.SERVERS_PENDING, pending)


def _gauge(spec: Spec, samples: Mapping[Labels, float]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(spec.name, spec.help, labels=spec.labels)
    for labels, value in samples.items():
        family.add_metric(labels, value)
    return family


def _counter(spec: Spec, samples: Mapping[Labels, float]) -> CounterMetricFamily:
    family = CounterMetricFamily(spec.name, spec.help, labels=spec.labels)
    for labels, value in samples.items():
        family.add_metric(labels, value)
    return family

"""What a scrape returns: the samples of all processes of a server as one page.

prometheus_client's own mode for several processes is not used: it maps a file per process into
memory at each count, keeps the files of dead processes, and has no figures of a process itself.
Here each process describes its samples when it is asked, and the one that was scraped adds the
label ``worker``. Adding the processes up would be wrong: when one of them is replaced, the sum of
its counters falls, which Prometheus takes for a restart of all.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from vixio.core.session.events import Event
from vixio.telemetry.metrics.counts import CountCollector, Sources
from vixio.telemetry.metrics.turns import TurnMetrics

SAMPLES: Final = "samples"
"""The key of a process's samples in its status."""


class ServerMetrics:
    """The metrics of one server in this process, and a sink for its events."""

    def __init__(self, sources: Sources) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(CountCollector(sources))
        self._turns = TurnMetrics(self._registry)
        ProcessCollector(registry=self._registry)

    def __call__(self, event: Event) -> None:
        """Take one event."""
        self._turns(event)

    def status(self) -> dict[str, Any]:
        """Return all samples of this process as a JSON value: packed, some kilobytes."""
        families = [
            [
                metric.name,
                metric.type,
                metric.documentation,
                [[each.name, each.labels, each.value] for each in _kept(metric)],
            ]
            for metric in self._registry.collect()
        ]
        packed = zlib.compress(json.dumps(families, separators=(",", ":")).encode(), 1)
        return {SAMPLES: base64.b85encode(packed).decode("ascii")}


def render(processes: Sequence[Mapping[str, Any]], accept: str) -> tuple[bytes, str]:
    """Return the page of all ``processes`` and its content type, which ``accept`` asks for.

    ``processes``: what :meth:`ServerMetrics.status` returned, with ``worker`` where there are
    several. One without samples is left out: it has not loaded them yet.
    """
    merged: dict[str, Metric] = {}
    for process in processes:
        if SAMPLES not in process:
            continue
        more = {"worker": str(process["worker"])} if "worker" in process else {}
        for name, kind, documentation, samples in _unpack(process[SAMPLES]):
            metric = merged.setdefault(name, Metric(name, documentation, kind))
            for sample, labels, value in samples:
                metric.add_sample(sample, {**labels, **more}, value)
    encode, content_type = choose_encoder(accept)
    return encode(_Page(merged)), content_type


class _Page(Collector):
    def __init__(self, metrics: Mapping[str, Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        return iter(self._metrics.values())


def _kept(metric: Metric) -> list[Any]:
    """Return the samples without the time at which each was created: another series for each."""
    return [each for each in metric.samples if each.name != f"{metric.name}_created"]


def _unpack(packed: str) -> Any:  # noqa: ANN401 - what another process of ours has packed
    return json.loads(zlib.decompress(base64.b85decode(packed)))

"""Metrics of turns, made from the record that each turn leaves."""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram

from vixio.core.metrics import TurnTimeline
from vixio.core.session.events import Event, TurnEnded
from vixio.telemetry.metrics import catalogue
from vixio.telemetry.metrics.catalogue import Spec
from vixio.telemetry.metrics.labels import Bounded

STAGES: Final = ("transcript", "first_token", "first_sentence", "first_audio", "first_frame")
"""Of the marks of a turn those that tell where the user's wait comes from."""

INVENTED: Final = "none"
"""The source of a tool that the model made up."""


class TurnMetrics:
    """A sink of the event bus. Its work is per turn, none per frame."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._stages = _histogram(catalogue.STAGES, registry)
        for stage in STAGES:
            self._stages.labels(stage)
        self._tools = _counter(catalogue.TOOL_CALLS, registry)
        self._tool_seconds = _histogram(catalogue.TOOL_SECONDS, registry)
        self._models = _counter(catalogue.MODEL_CALLS, registry)
        self._tokens_in = _counter(catalogue.TOKENS_IN, registry)
        self._tokens_cached = _counter(catalogue.TOKENS_CACHED, registry)
        self._tokens_out = _counter(catalogue.TOKENS_OUT, registry)
        self._passed_over = _counter(catalogue.PASSED_OVER, registry)
        self._source = Bounded()
        self._model = Bounded()

    def __call__(self, event: Event) -> None:
        """Take one event."""
        if isinstance(event, TurnEnded):
            self._note_stages(event.timeline)
            self._note_tools(event.timeline)
            self._note_models(event.timeline)

    def _note_stages(self, timeline: TurnTimeline) -> None:
        zero = timeline.marks.get("turn_end")
        if zero is None or timeline.outcome.startswith("failed"):
            return  # nobody waited for it, or what came was an apology
        for stage in STAGES:
            if (at := timeline.marks.get(stage)) is not None:
                # A streaming recogniser may have the words before the end is decided.
                self._stages.labels(stage).observe(max(0.0, at - zero))

    def _note_tools(self, timeline: TurnTimeline) -> None:
        for tool in timeline.tools:
            # Names of sources of profiles and devices may be given by a user's program.
            source = self._source(tool.source.partition("/")[0] or INVENTED)
            self._tools.labels(source, "ok" if tool.success else "failed").inc()
            self._tool_seconds.labels(source).observe(tool.seconds)

    def _note_models(self, timeline: TurnTimeline) -> None:
        for use in timeline.models:
            model = self._model(use.model)
            self._models.labels(model).inc()
            self._tokens_in.labels(model).inc(use.input_tokens)
            self._tokens_cached.labels(model).inc(use.cached_tokens)
            self._tokens_out.labels(model).inc(use.output_tokens)
            for name in use.passed_over:
                self._passed_over.labels(self._model(name)).inc()


def _counter(spec: Spec, registry: CollectorRegistry) -> Counter:
    return Counter(spec.name, spec.help, spec.labels, registry=registry)


def _histogram(spec: Spec, registry: CollectorRegistry) -> Histogram:
    return Histogram(spec.name, spec.help, spec.labels, registry=registry, buckets=spec.buckets)

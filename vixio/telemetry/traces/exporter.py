"""Sends traces to the endpoint of the environment, by OTLP over HTTP, in a thread of its own."""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, cast

from vixio import __version__
from vixio.core.environment_proxy import except_loopback
from vixio.core.session.events import TurnEnded
from vixio.telemetry.traces.spans import Span, TurnTrace, trace_of

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
    from opentelemetry.trace import Span as OpenSpan
    from opentelemetry.trace import Tracer

_log = logging.getLogger(__name__)

MAX_REASON: Final = 300
"""Characters of the library's reason in the log."""

MAX_WAITING: Final = 1_000
"""Turns that wait for the thread; it is busy for the time of the library's import, at first."""

SERVICE: Final = "vixio"


class TraceExporter:
    """Takes turns that have ended.

    ``failed`` is called in the thread if the library is missing or cannot be set up; ``over`` when
    all is sent after :meth:`close`, or given up.
    """

    def __init__(self, failed: Callable[[Exception], None], over: Callable[[], None]) -> None:
        self._failed = failed
        self._over = over
        self._turns: queue.Queue[tuple[TurnTrace, float] | None] = queue.Queue(MAX_WAITING)
        # Not waited for when the process ends: an endpoint may hang.
        self._thread = threading.Thread(target=self._run, name="vixio-traces", daemon=True)

    def start(self) -> None:
        """Begin; the library is imported in the thread."""
        self._thread.start()

    def put(self, event: TurnEnded) -> bool:
        """Take a turn; return False if too many wait."""
        try:
            # The loop's clock has no date: what it shows now is this moment.
            self._turns.put_nowait((trace_of(event), time.time() - event.at))
        except queue.Full:
            return False
        return True

    def close(self) -> None:
        """Send what waits, and end the thread. Returns at once."""
        try:
            self._turns.put_nowait(None)
        except queue.Full:
            self._over()

    def _run(self) -> None:
        try:
            provider = _provider()
        except Exception as error:  # noqa: BLE001 - a mistake in its variables costs the traces alone
            self._failed(error)
            self._over()
            return
        tracer = provider.get_tracer(SERVICE, __version__)
        while (item := self._turns.get()) is not None:
            _write(tracer, *item)
        provider.shutdown()
        self._over()


def _provider() -> TracerProvider:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    resource = Resource.create(
        {
            "service.name": SERVICE,
            "service.version": __version__,
            "service.instance.id": str(uuid.uuid4()),
            "process.pid": os.getpid(),
        }
    )
    except_loopback()  # the exporter's HTTP client reads the environment by itself
    # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES go first.
    resource = resource.merge(OTELResourceDetector().detect())
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    exporter = cast("SpanExporter", _Reporting(OTLPSpanExporter()))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


class _Reporting:
    """An exporter whose outages are one line at their beginning and one at their end.

    The library logs each attempt, which is several lines a minute for as long as it lasts.
    """

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self._reason = ""
        self._away = False
        self._thread: int | None = None
        """Which exports now."""
        self._logger = logging.getLogger(type(exporter).__module__)
        self._logger.addFilter(self._take)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send a batch."""
        from opentelemetry.sdk.trace.export import SpanExportResult

        self._reason = ""
        self._thread = threading.get_ident()
        result = self._exporter.export(spans)
        away = result is not SpanExportResult.SUCCESS
        if away and not self._away:
            _log.warning("traces cannot be sent", extra={"reason": self._reason})
        elif self._away and not away:
            _log.info("traces are sent again")
        self._away = away
        return result

    def shutdown(self) -> None:
        """Close the connections."""
        self._exporter.shutdown()
        self._logger.removeFilter(self._take)

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Return True: nothing is kept here."""
        return True

    def _take(self, record: logging.LogRecord) -> bool:
        """Keep the first of the library's reasons instead of its line."""
        if record.thread != self._thread:
            return True
        self._reason = self._reason or record.getMessage()[:MAX_REASON]
        return False


def _write(tracer: Tracer, trace: TurnTrace, epoch: float) -> None:
    """Make the spans of one turn. ``epoch``: what the loop's clock is behind the time of day."""
    from opentelemetry.trace import Status, StatusCode, set_span_in_context

    def nanoseconds(at: float) -> int:
        return round((at + epoch) * 1e9)

    def begin(span: Span, parent: Context | None = None) -> OpenSpan:
        made = tracer.start_span(
            span.name,
            context=parent,
            attributes=dict(span.attributes),
            start_time=nanoseconds(span.start),
        )
        if span.error is not None:
            made.set_status(Status(StatusCode.ERROR, span.error))
        return made

    turn = begin(trace.turn)
    for name, at in trace.moments.items():
        turn.add_event(name, timestamp=nanoseconds(at))
    inside = set_span_in_context(turn)
    for part in trace.parts:
        begin(part, inside).end(nanoseconds(part.end))
    turn.end(nanoseconds(trace.turn.end))

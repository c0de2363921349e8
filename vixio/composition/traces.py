"""Connects the traces with the server, where the environment names an endpoint for them."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from vixio.core.extras import how_to_install
from vixio.core.metrics import Counters
from vixio.core.session.events import Event, EventBus, TurnEnded
from vixio.telemetry.traces.exporter import TraceExporter

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
SPOKEN: Final = "http/protobuf"


def wanted(environ: Mapping[str, str]) -> bool:
    """Whether there is an endpoint, and traces are not turned off.

    https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ and
    https://opentelemetry.io/docs/specs/otel/protocol/exporter/. The library reads the other
    variables itself: headers, time-out, certificate, resource attributes, sampler.
    """
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    if environ.get("OTEL_TRACES_EXPORTER", "").strip().lower() == "none":
        return False
    return any(environ.get(name, "").strip() for name in ENDPOINTS)


def mistake(environ: Mapping[str, str]) -> str:
    """Return why the endpoint cannot be used; empty: it can."""
    protocol = next((value for name in PROTOCOLS if (value := environ.get(name, ""))), SPOKEN)
    if protocol.strip() != SPOKEN:
        return f"the protocol is {protocol}, only {SPOKEN} is supported (port 4318 of a collector)"
    return ""


_log = logging.getLogger(__name__)

FLUSH_S: Final = 3.0
"""Longest wait for the last traces when the server stops."""


class TraceService:
    """The traces of one server. Nothing happens unless they are wanted."""

    def __init__(self, events: EventBus, counters: Counters) -> None:
        self._events = events
        self._counters = counters
        self._exporter: TraceExporter | None = None
        self._over = asyncio.Event()

    def begin(self) -> None:
        """The ports are open: send traces from now on."""
        if not wanted(os.environ):
            return
        if reason := mistake(os.environ):
            _log.warning("no traces", extra={"reason": reason})
            return
        loop = asyncio.get_running_loop()

        def over() -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits
                loop.call_soon_threadsafe(self._over.set)

        self._exporter = TraceExporter(self._failed, over)
        self._exporter.start()
        self._events.attach(self._take)

    async def close(self) -> None:
        """Send the last ones, within :data:`FLUSH_S`. Idempotent."""
        exporter, self._exporter = self._exporter, None
        if exporter is None:
            return
        exporter.close()
        try:
            async with asyncio.timeout(FLUSH_S):
                await self._over.wait()
        except TimeoutError:
            _log.warning("the last traces were not sent", extra={"seconds": FLUSH_S})

    def _take(self, event: Event) -> None:
        if self._exporter is not None and isinstance(event, TurnEnded):
            self._counters.add("traces.taken" if self._exporter.put(event) else "traces.dropped")

    def _failed(self, error: Exception) -> None:
        """Say what is missing or wrong; called in the exporter's thread."""
        reason = f"OTEL_ variables: {error}"
        if isinstance(error, ImportError):
            reason = f"{error.name} is not installed: run `{how_to_install('otel')}`"
        _log.warning("no traces", extra={"reason": reason})

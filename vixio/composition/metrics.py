"""Connects the metrics with the server. Their library is imported once the ports are open."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from vixio.composition.server_providers import ServerProviders
from vixio.core.cluster import Cluster
from vixio.core.errors import VixioError
from vixio.core.extras import how_to_repair
from vixio.core.host import SessionHost
from vixio.core.readiness import Readiness
from vixio.core.session.events import Event, TurnEnded
from vixio.settings.metrics import MetricsSection
from vixio.transports.admission.addresses import Networks, Proxies
from vixio.web.http.routes.metrics import metrics_routes

if TYPE_CHECKING:
    from starlette.routing import Route

    from vixio.telemetry.metrics.exposition import ServerMetrics

_log = logging.getLogger(__name__)

TOPIC: Final = "metrics"
"""Under which each process reports its samples."""

MAX_WAITING: Final = 1_000
"""Turns that may end before the library is there, which takes a fraction of a second."""


class MetricsService:
    """The metrics of one server, which :meth:`load` makes available."""

    def __init__(
        self,
        section: MetricsSection,
        host: SessionHost,
        providers: ServerProviders,
        readiness: Readiness,
        cluster: Cluster,
    ) -> None:
        self._section = section
        self._host = host
        self._providers = providers
        self._readiness = readiness
        self._cluster = cluster
        self._metrics: ServerMetrics | None = None
        self._waiting: deque[Event] = deque(maxlen=MAX_WAITING)
        self._missing = ""
        if section.enabled:
            host.events.attach(self._take)
            cluster.presence.publish(self._status, topic=TOPIC)

    def routes(self, proxies: Proxies) -> Sequence[Route]:
        """Return the route; none if the settings want none."""
        if not self._section.enabled:
            return ()
        return metrics_routes(self._scrape, Networks(self._section.allow, "metrics.allow"), proxies)

    async def load(self) -> None:
        """Import the library. Without it the server runs all the same, and a line says so."""
        if not self._section.enabled:
            return
        try:
            self._metrics = await asyncio.to_thread(self._make)
        except ImportError as error:
            self._missing = f"{error.name} is not installed: run `{how_to_repair()}`"
            _log.warning("no metrics", extra={"reason": self._missing})
            return
        while self._waiting:
            self._metrics(self._waiting.popleft())

    def _make(self) -> ServerMetrics:
        from vixio.telemetry.metrics.counts import Sources
        from vixio.telemetry.metrics.exposition import ServerMetrics

        return ServerMetrics(
            Sources(
                self._host.counters,
                self._readiness,
                self._gauges,
                self._providers.fallbacks,
                self._providers.servers,
            )
        )

    def _gauges(self) -> dict[str, Any]:
        return {**self._host.stats(), **self._cluster.stats()}

    def _take(self, event: Event) -> None:
        if self._metrics is not None:
            self._metrics(event)
        elif not self._missing and isinstance(event, TurnEnded):
            self._waiting.append(event)

    def _status(self) -> dict[str, Any]:
        return self._metrics.status() if self._metrics is not None else {}

    async def _scrape(self, accept: str) -> tuple[bytes, str]:
        if self._metrics is None:
            raise VixioError(self._missing or "the metrics are still loading")
        from vixio.telemetry.metrics.exposition import render

        members = await self._cluster.presence.members(TOPIC)
        # Some thousand lines with many processes, too many to be written between two frames.
        return await asyncio.to_thread(render, members, accept)

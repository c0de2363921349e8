"""What an operator sees and does of a server: readiness, metrics, traces, and its end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from vixio.composition.capacity import CapacityMeter
from vixio.composition.drain import Drain
from vixio.composition.metrics import MetricsService
from vixio.composition.server_providers import ServerProviders
from vixio.composition.traces import TraceService
from vixio.core.host import SessionHost
from vixio.core.readiness import Readiness
from vixio.core.tasks import cancel_and_wait
from vixio.settings import Settings
from vixio.transports.admission.admission import Admission
from vixio.web.http.routes.ready import ready_routes

if TYPE_CHECKING:
    from starlette.routing import Route


class Operations:
    """One server's, in this process."""

    def __init__(
        self,
        settings: Settings,
        host: SessionHost,
        providers: ServerProviders,
        admission: Admission,
    ) -> None:
        self.readiness = ServerReadiness(providers)
        self.drain = Drain(host, admission)
        self.readiness.add("draining", self.drain.reason)
        self._metrics = MetricsService(
            settings.metrics, host, providers, self.readiness, admission.cluster
        )
        self._traces = TraceService(host.events, host.counters)
        self.admission = admission
        self._capacity = CapacityMeter(admission.capacity, host)
        self._beginning: asyncio.Task[None] | None = None

    def routes(self) -> Sequence[Route]:
        """Return the routes of the HTTP port."""
        return [*ready_routes(self.readiness), *self._metrics.routes(self.admission.proxies)]

    def begin(self, loading: asyncio.Task[None]) -> None:
        """The ports are open; ``loading`` loads the providers."""
        self.readiness.listening = True
        self.readiness.loading = loading
        # The log has its failure already; the event loop would report it once more.
        loading.add_done_callback(lambda task: task.cancelled() or task.exception())
        self._beginning = asyncio.create_task(self._metrics.load())
        self._traces.begin()
        self._capacity.begin(loading)

    async def close(self) -> None:
        """The ports are about to be closed. Ends the loading of the providers. Idempotent."""
        self.readiness.listening = False
        await cancel_and_wait(self.readiness.loading, self._beginning)
        await self._capacity.close()

    async def ended(self) -> None:
        """All sessions are over: send the last traces. Idempotent."""
        await self._traces.close()


class ServerReadiness(Readiness):
    """``ports`` and ``providers``; other parts add theirs.

    ``listening``: set while the ports are open. ``loading``: the task that loads the providers.
    """

    def __init__(self, providers: ServerProviders) -> None:
        super().__init__()
        self.listening = False
        self.loading: asyncio.Task[None] | None = None
        self._providers = providers
        self.add("ports", lambda: "" if self.listening else "the ports are closed")
        self.add("providers", self._provider_trouble)

    @property
    def status(self) -> str:
        """What the health page says: ``ok``, ``loading`` or ``degraded``."""
        if self._providers.unusable():
            return "degraded"
        return "ok" if self._loaded else "loading"

    @property
    def _loaded(self) -> bool:
        loading = self.loading
        return loading is not None and loading.done() and not loading.cancelled()

    def _provider_trouble(self) -> str:
        if unusable := self._providers.unusable():
            return f"cannot be used: {', '.join(unusable)}"
        return "" if self._loaded else "still loading"

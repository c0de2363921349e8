"""What an operator sees and does of a running server: its readiness, and its end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from vixio.composition.drain import Drain
from vixio.composition.readiness import ServerReadiness
from vixio.composition.server_providers import ServerProviders
from vixio.core.host import SessionHost
from vixio.http.routes.ready import ready_routes
from vixio.transports.admission.admission import Admission

if TYPE_CHECKING:
    from starlette.routing import Route


class Operations:
    """One server's, in this process."""

    def __init__(self, host: SessionHost, providers: ServerProviders, admission: Admission) -> None:
        self.readiness = ServerReadiness(providers)
        self.drain = Drain(host, admission)
        self.readiness.add("draining", self.drain.reason)

    def routes(self) -> Sequence[Route]:
        """Return the routes of the HTTP port."""
        return ready_routes(self.readiness)

    def begin(self, loading: asyncio.Task[None]) -> None:
        """The ports are open; ``loading`` loads the providers."""
        self.readiness.listening = True
        self.readiness.loading = loading

    async def close(self) -> None:
        """The ports are about to be closed. Ends the loading of the providers. Idempotent."""
        self.readiness.listening = False
        if (loading := self.readiness.loading) is not None:
            loading.cancel()
            await asyncio.wait([loading])

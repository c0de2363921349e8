"""The gateway's place in the HTTP server: answers 503 until the gateway is loaded. Cheap to import.

The A2A library takes most of a second to import, which happens in a thread, behind the open ports.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from vixio.core.cluster import Cluster, CommandHandler
from vixio.core.commands import CommandResult
from vixio.core.errors import ConfigError, describe
from vixio.core.extras import how_to_install
from vixio.core.imports import sdk_import
from vixio.core.metrics import Counters
from vixio.core.session.conversation import Conversation
from vixio.core.tasks import cancel_and_wait
from vixio.settings.a2a import A2ASection
from vixio.transports.admission.addresses import Proxies, parse_address
from vixio.web.http.public_url import public_url

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import Route
    from starlette.types import Receive, Scope, Send

    from vixio.web.a2a.gateway import Gateway

NEEDS: Final = ("a2a", "sse_starlette")
"""The modules of the extra."""

PATHS: Final = ("/.well-known/agent-card.json", "/a2a", "/a2a/{path:path}")

_log = logging.getLogger(__name__)


def check_installed() -> None:
    """Raise ConfigError if the A2A library is not installed. Imports nothing."""
    if any(find_spec(module) is None for module in NEEDS):
        raise ConfigError(f"a2a needs: {how_to_install('a2a')}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """What the gateway uses of the server.

    ``forget`` drops the history of a key from memory, once it is stored. ``serve_keys`` sets what
    carries out the commands to leases of contexts.
    """

    open_conversation: Callable[[str], Awaitable[Conversation]]
    forget: Callable[[str], Awaitable[None]]
    command: Callable[..., Awaitable[CommandResult]]
    serve_keys: Callable[[CommandHandler], None]
    cluster: Cluster
    counters: Counters
    proxies: Proxies
    http_port: Callable[[], int]


class A2AMount:
    """Loads the gateway and passes requests on to it. Raises ConfigError if it cannot be loaded."""

    def __init__(self, settings: A2ASection, ports: Ports) -> None:
        check_installed()
        self._settings = settings
        self._ports = ports
        self._gateway: Gateway | None = None
        self._loading: asyncio.Task[None] | None = None

    def routes(self) -> Sequence[Route]:
        """Return the routes for the HTTP server."""
        from starlette.routing import Route

        return [Route(path, self) for path in PATHS]

    def begin(self) -> None:
        """Begin to load."""
        self._loading = asyncio.create_task(self._load(), name="a2a load")

    async def loaded(self) -> None:
        """Wait until requests are answered. What went wrong is in the log."""
        if self._loading is not None:
            await asyncio.wait((self._loading,))

    async def close(self) -> None:
        """End all tasks and streams. Idempotent."""
        await cancel_and_wait(self._loading)
        gateway, self._gateway = self._gateway, None
        if gateway is not None:
            await gateway.close()

    def stats(self) -> dict[str, Any]:
        """Return what the health page shows."""
        return {"a2a": self._gateway.stats() if self._gateway is not None else {}}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if self._gateway is not None:
            await self._gateway(scope, receive, send)
            return
        from starlette.responses import JSONResponse

        self._ports.counters.add("a2a.refused.loading")
        body = {"error": {"code": 503, "status": "UNAVAILABLE", "message": "still starting"}}
        await JSONResponse(body, 503, {"Retry-After": "1"})(scope, receive, send)

    async def _load(self) -> None:
        try:
            gateway_class = await asyncio.to_thread(load_gateway)
            gateway = gateway_class(self._settings, self._ports, self._base_url)
            self._gateway = gateway
            await gateway.start()
        except Exception as error:  # noqa: BLE001 - the server serves devices without it
            self._ports.counters.add("a2a.failed")
            _log.error("A2A is not available", extra={"error": describe(error)})
        else:
            _log.info("A2A is ready", extra={"callers": len(self._settings.tokens)})

    def _base_url(self, request: Request) -> str:
        """Return the server's URL, without a path, as the client of ``request`` reaches it."""
        if self._settings.public_url:
            return self._settings.public_url
        peer = parse_address(request.client.host if request.client else "")
        server = request.scope.get("server")
        own = str(server[0]) if server else "127.0.0.1"
        return public_url(
            request.headers,
            f"[{own}]" if ":" in own else own,
            schemes=("http", "https"),
            port=self._ports.http_port(),
            path="",
            trust_forwarded=self._ports.proxies.trusts(peer),
        )


def load_gateway() -> type[Gateway]:
    """Import the gateway, with the A2A library; takes most of a second."""
    # Where OpenTelemetry is installed, which MCP brings, it would make a span of each event.
    os.environ.setdefault("OTEL_INSTRUMENTATION_A2A_SDK_ENABLED", "false")
    with sdk_import():
        from vixio.web.a2a.gateway import Gateway
    return Gateway

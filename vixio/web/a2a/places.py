"""Which process has a context, where several serve one address.

A context belongs to the process that holds its lease (``vixio.core.cluster``). The key of the lease
follows from the context's id, and from the id of each of its tasks. A request that comes to another
process is passed on to the holder with its own token: the holder checks it like any other. That
goes over the loopback interface, or over the network of the nodes where there are several.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Final

from vixio.core.cluster import Cluster, ClusterUnavailable, LeaseLost, LossReason
from vixio.core.commands import Command, CommandResult, CommandStatus, Custom
from vixio.core.device import RESERVED_PREFIX
from vixio.transports.admission.admission import Admission
from vixio.web.a2a import refusals
from vixio.web.a2a.callers import Scope
from vixio.web.http.server import HttpServer

if TYPE_CHECKING:
    import aiohttp
    from starlette.requests import Request
    from starlette.responses import Response

    from vixio.web.a2a.contexts import Context

ADDRESS: Final = "a2a.address"
ADDRESS_S: Final = 5.0
CONNECT_S: Final = 5.0
SILENCE_S: Final = 3_600.0
"""Of the other process: it answers a message that is not streamed when its task rests."""

_HOP_BY_HOP: Final = frozenset(
    {"connection", "content-length", "date", "keep-alive", "server", "transfer-encoding"}
)
_DIGEST_CHARS: Final = 24

_log = logging.getLogger(__name__)


def digest(context_id: str) -> str:
    """Return what stands for a context in the ids of its tasks."""
    return hashlib.sha256(context_id.encode("utf-8", "replace")).hexdigest()[:_DIGEST_CHARS]


def digest_of_task(task_id: str) -> str:
    """Return the digest of a task's context; of an id that is none of ours, something harmless."""
    return task_id.partition("-")[0][:_DIGEST_CHARS]


class Places:
    """Leases of contexts, and the way to the processes that hold them.

    ``lost`` is called with a context that another process has taken.
    """

    def __init__(self, cluster: Cluster, lost: Callable[[Context], None]) -> None:
        self._cluster = cluster
        self._lost = lost
        self._server: HttpServer | None = None
        self._client: aiohttp.ClientSession | None = None

    @property
    def shared(self) -> bool:
        """Whether there are several processes."""
        return self._cluster.shared

    @property
    def host(self) -> str:
        """Where this process listens for requests that others pass on."""
        return self._cluster.reached_at

    async def start(self, server: HttpServer) -> None:
        """Listen for requests that other processes pass on, with ``server``."""
        import aiohttp

        await server.start()
        self._server = server
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=SILENCE_S)
        self._client = aiohttp.ClientSession(timeout=timeout, auto_decompress=False)

    async def close(self) -> None:
        """Pass nothing on any more. Idempotent."""
        if self._client is not None:
            await self._client.close()
        if self._server is not None:
            await self._server.stop()

    async def is_elsewhere(self, scope: Scope, context_digest: str) -> bool:
        """Whether another process has the context."""
        key = _key(scope, context_digest)
        return self.shared and await self._cluster.presence.look_elsewhere(key)

    async def hold(self, context: Context) -> None:
        """Take the lease of a context, unless it is held. Raises Refused."""
        if not self.shared:
            return
        async with context.leasing:
            if context.lease is not None and context.lease.valid:
                return

            async def on_lost(reason: LossReason) -> None:
                self._lost(context)

            key = _key(context.scope, digest(context.id))
            try:
                context.lease = await self._cluster.leases.acquire(key, on_lost)
            except (LeaseLost, ClusterUnavailable) as error:
                raise refusals.unavailable(str(error)) from None

    async def answer(self, device_id: str, command: Command) -> CommandResult:
        """Carry out a command to a lease of this process: say where it is reached."""
        if isinstance(command, Custom) and command.name == ADDRESS and self._server is not None:
            host = self.host
            shown = f"[{host}]" if ":" in host else host
            return CommandResult(CommandStatus.DONE, f"{shown}:{self._server.port}")
        return CommandResult(CommandStatus.FAILED, message="A2A is not ready")

    async def pass_on(
        self, request: Request, body: bytes, scope: Scope, context_digest: str
    ) -> Response:
        """Have the process that has a context answer a request. Raises Refused."""
        import aiohttp
        from starlette.responses import StreamingResponse

        key = _key(scope, context_digest)
        found = await self._cluster.commands.send(key, Custom(ADDRESS), timeout=ADDRESS_S)
        if not found.ok or self._client is None:
            raise refusals.unavailable("the process that has the task cannot be reached")
        url = f"http://{found.value}{request.url.path}"
        if request.url.query:
            url += f"?{request.url.query}"
        headers = [
            (name, value)
            for name, value in request.headers.items()
            if name not in _HOP_BY_HOP and name != "accept-encoding"
        ]
        try:
            answer = await self._client.request(
                request.method, url, headers=headers, data=body, allow_redirects=False
            )
        except (aiohttp.ClientError, OSError, TimeoutError):
            raise refusals.unavailable("the process that has the task does not answer") from None

        async def pieces() -> AsyncIterator[bytes]:
            try:
                async for piece in answer.content.iter_any():
                    yield piece
            except aiohttp.ClientError:
                _log.warning("the process that has an A2A task ended")
            finally:
                answer.close()

        kept = {
            name: value for name, value in answer.headers.items() if name.lower() not in _HOP_BY_HOP
        }
        return StreamingResponse(pieces(), status_code=answer.status, headers=kept)


def forwarding_server(app: object, host: str, admission: Admission) -> HttpServer:
    """Return the server for requests of other processes, on any port of ``host``."""
    # It serves any ASGI application, though it asks for one of Starlette.
    return HttpServer(app, host, 0, admission=admission)  # type: ignore[arg-type]


def _key(scope: Scope, context_digest: str) -> str:
    return f"{RESERVED_PREFIX}{scope.name}/{context_digest}"

"""The HTTP server: uvicorn inside the running loop, with bounded connections."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING

from vixio.core.errors import ConfigError
from vixio.transports.admission.admission import Admission
from vixio.transports.admission.connection_tracker import ConnectionTracker
from vixio.transports.admission.listener import NO_DESCRIPTORS, Listener
from vixio.transports.admission.port_errors import port_error

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette

    from vixio.web.http.upgrade import Upgrades

_log = logging.getLogger(__name__)


class HttpServer:
    """Serves an ASGI application inside the running loop; the process keeps its own signals.

    ``admission`` bounds the connections of one address, unless it is a trusted proxy's.
    ``share_port``: let other processes listen on the same port. ``upgrades``: the WebSockets of the
    port. Their connections are those of whom they were handed over to: :meth:`stop` leaves them.
    """

    def __init__(
        self,
        app: Starlette,
        host: str,
        port: int,
        *,
        admission: Admission | None = None,
        share_port: bool = False,
        upgrades: Upgrades | None = None,
    ) -> None:
        admission = admission or Admission()
        self._admission = admission
        self._tracker = ConnectionTracker(
            # Requests are limited where they are answered; these are the connections.
            replace(admission.limits, connects_per_address=0),
            admission.proxies,
            monotonic,
            what="http_",
            cluster=admission.cluster,
        )
        self._share_port = share_port
        self._upgrades = upgrades
        self._app = app
        self._host = host
        self._port = port
        self._server: uvicorn.Server | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def port(self) -> int:
        """The port that is listened on, also where 0 was asked for."""
        return self._port

    async def start(self) -> None:
        """Listen; requests are answered when this returns. Raises ConfigError if it cannot."""
        server_class = await asyncio.to_thread(_load_server)
        sock = self._bind()
        self._server, started = server_class(
            self._app, self._tracker, self._admission, self._upgrades
        )
        self._port = sock.getsockname()[1]
        self._task = asyncio.create_task(self._server.serve(sockets=[sock]))
        starting = asyncio.create_task(started.wait())
        await asyncio.wait([self._task, starting], return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            starting.cancel()
            await self._task  # raises what went wrong
            raise ConfigError("the HTTP server ended while it started")
        _log.info("listening for HTTP", extra={"host": self._host, "port": self._port})

    async def stop(self) -> None:
        """Finish open requests and free the port. Idempotent."""
        task, self._task = self._task, None
        if task is not None and self._server is not None:
            self._server.should_exit = True
            await task

    def _bind(self) -> socket.socket:
        try:
            return Listener(self._host, self._port, self._turned_away, shared=self._share_port)
        except OSError as error:
            raise port_error(self._host, self._port, "http_port", error) from None

    def _turned_away(self) -> None:
        self._admission.counters.add(NO_DESCRIPTORS.counter("http"))
        self._admission.refused(f"http_{NO_DESCRIPTORS.reason}")


def _load_server() -> Callable[..., tuple[uvicorn.Server, asyncio.Event]]:
    """Import uvicorn (which takes a while) and return a way to make our kind of its server."""
    import uvicorn

    from vixio.web.http import guard as http_guard
    from vixio.web.http.guard import GuardedProtocol

    class Server(uvicorn.Server):
        """Signals that it listens, and installs no signal handlers. Its end is bounded.

        uvicorn's own bound logs a traceback for each request that it cancels.
        """

        def __init__(self, config: uvicorn.Config, protocol: type[GuardedProtocol]) -> None:
            super().__init__(config)
            self.listening = asyncio.Event()
            self._ending = protocol.ending

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=sockets)
            self.listening.set()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            for server in self.servers:
                server.close()
            # From Python 3.12 on asyncio's wait_closed() would wait for connections that were
            # handed over, too. uvicorn counts those that are its own.
            self.servers = []
            self._ending.begun = True
            loop = asyncio.get_running_loop()
            timer = loop.call_later(http_guard.STOP_S, self._cut_off)
            await super().shutdown(sockets=sockets)
            timer.cancel()
            if cut_off := self._ending.cut_off:
                _log.warning("requests cut off at the end", extra={"requests": cut_off})

        def _cut_off(self) -> None:
            for connection in list(self.server_state.connections):
                if isinstance(connection, GuardedProtocol):
                    connection.cut_off()
            for task in self.server_state.tasks:
                task.cancel()

    def make(
        app: Starlette,
        tracker: ConnectionTracker,
        admission: Admission,
        upgrades: Upgrades | None,
    ) -> tuple[uvicorn.Server, asyncio.Event]:
        protocol = http_guard.guarded(tracker, admission, upgrades)
        config = uvicorn.Config(
            app,
            http=protocol,
            limit_concurrency=http_guard.MAX_CONNECTIONS,
            timeout_keep_alive=http_guard.KEEP_ALIVE_S,
            h11_max_incomplete_event_size=http_guard.MAX_HEAD_BYTES,
            backlog=http_guard.BACKLOG,
            lifespan="off",
            # GuardedProtocol hands connections over by itself, so this one is never made.
            ws="none" if upgrades is None else asyncio.Protocol,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # OtaSettings.trusted_proxies decides
            # For a request that its cancellation does not end.
            timeout_graceful_shutdown=http_guard.STOP_S + 1,
        )
        server = Server(config, protocol)
        return server, server.listening

    return make

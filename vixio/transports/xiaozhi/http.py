"""The HTTP side: the OTA endpoint through which a device finds the server, and the health page."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import math
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any

from loguru import logger

from vixio import __version__
from vixio.core.cluster import Cluster
from vixio.core.errors import ConfigError
from vixio.core.metrics import Counters
from vixio.transports.xiaozhi.addresses import Proxies, address_key, parse_address
from vixio.transports.xiaozhi.limits import KeyedBuckets, Limits
from vixio.transports.xiaozhi.listener import NO_DESCRIPTORS, Listener
from vixio.transports.xiaozhi.ota import OtaSettings, ota_answer
from vixio.transports.xiaozhi.settings import TRUSTED_PROXIES
from vixio.transports.xiaozhi.visitors import Visitors

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

Status = Callable[[], Mapping[str, Any] | Awaitable[Mapping[str, Any]]]

MAX_BODY_BYTES = 64 * 1024
"""A device's system information has about 2 KB."""


def create_http_app(
    settings: OtaSettings,
    status: Status = dict,
    cluster: Cluster | None = None,
    more: Sequence[Route] = (),
) -> Starlette:
    """Return the ASGI application. ``status`` gives the health page its gauges.

    ``more``: routes that stand beside OTA and health, as the one for cameras' photos.
    ``cluster``: the processes that share this one's limit of OTA requests.
    """
    from starlette.applications import Starlette
    from starlette.requests import ClientDisconnect
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    counters = settings.counters
    proxies = Proxies(settings.trusted_proxies)
    buckets = KeyedBuckets(settings.limits.ota_per_address)
    others = cluster or Cluster()
    others.on_act("ota", lambda key, number: buckets.charge(key, number, monotonic()))

    def refuse(request: Request) -> Response | None:
        peer = parse_address(request.client.host if request.client else "")
        client = proxies.client(peer, request.headers.getlist("x-forwarded-for"))
        if client is None:
            return None
        wait = buckets.take(address_key(client), monotonic())
        if not wait:
            others.act("ota", address_key(client))
            return None
        counters.add("xiaozhi.limited.ota")
        return JSONResponse(
            {"error": "too many requests"}, 429, {"Retry-After": str(math.ceil(wait))}
        )

    async def ota(request: Request) -> Response:
        counters.add("http.ota")
        if (refusal := refuse(request)) is not None:
            return refusal
        body = b""
        try:
            async for piece in request.stream():
                body += piece
                if len(body) > MAX_BODY_BYTES:
                    counters.add("http.ota.too_large")
                    return JSONResponse({"error": "the body is too large"}, status_code=413)
        except ClientDisconnect:
            return JSONResponse({}, status_code=400)  # nobody is there to read it
        server = request.scope.get("server")
        own_host = str(server[0]) if server else "127.0.0.1"
        if ":" in own_host:
            own_host = f"[{own_host}]"
        peer = parse_address(request.client.host if request.client else "")
        forwarded = settings.trust_forwarded or proxies.trusts(peer)
        return JSONResponse(
            ota_answer(settings, request.headers, body, own_host, trust_forwarded=forwarded)
        )

    async def activate(request: Request) -> Response:
        # 200: done. No device is asked to activate; one that asks by itself shall not try again.
        return refuse(request) or JSONResponse({})

    async def health(request: Request) -> Response:
        page = {"status": "ok", "version": __version__, "counters": counters.snapshot()}
        return JSONResponse({**page, **await _gauges(status)})

    path = settings.ota_path.rstrip("/")
    routes = [Route(path + end, ota, methods=["GET", "POST"]) for end in ("", "/") if path + end]
    routes += [
        Route(f"{path}/activate{end}", activate, methods=["GET", "POST"]) for end in ("", "/")
    ]
    routes.append(Route("/healthz", health, methods=["GET"]))
    return Starlette(routes=[*routes, *more])


async def _gauges(status: Status) -> Mapping[str, Any]:
    gauges = status()
    return gauges if isinstance(gauges, Mapping) else await gauges


class HttpServer:
    """Serves an ASGI application inside the running loop; the process keeps its own signals.

    ``limits`` bound the connections of one address, unless it is one of ``trusted_proxies``.
    ``share_port``: let other processes listen on the same port.
    """

    def __init__(
        self,
        app: Starlette,
        host: str,
        port: int,
        *,
        limits: Limits | None = None,
        trusted_proxies: Sequence[str] = TRUSTED_PROXIES,
        counters: Counters | None = None,
        cluster: Cluster | None = None,
        share_port: bool = False,
    ) -> None:
        # Requests are counted where they are answered; here it is about connections.
        limits = replace(limits or Limits(), connects_per_address=0)
        self._visitors = Visitors(
            limits, Proxies(trusted_proxies), monotonic, what="http_", cluster=cluster
        )
        self._share_port = share_port
        self._counters = counters if counters is not None else Counters()
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
        self._server, started = server_class(self._app, self._visitors, self._counters.add)
        self._port = sock.getsockname()[1]
        self._task = asyncio.create_task(self._server.serve(sockets=[sock]))
        starting = asyncio.create_task(started.wait())
        await asyncio.wait([self._task, starting], return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            starting.cancel()
            await self._task  # raises what went wrong
            raise ConfigError("the HTTP server ended while it started")
        logger.bind(host=self._host, port=self._port).info("listening for HTTP")

    async def stop(self) -> None:
        """Finish open requests and free the port. Idempotent."""
        task, self._task = self._task, None
        if task is not None and self._server is not None:
            self._server.should_exit = True
            await task

    def _bind(self) -> socket.socket:
        turned_away = functools.partial(self._counters.add, NO_DESCRIPTORS.counter)
        try:
            return Listener(self._host, self._port, turned_away, shared=self._share_port)
        except OSError as error:
            raise ConfigError(
                f"cannot listen on {self._host}:{self._port} for HTTP: {error.strerror}; "
                "stop the program that has the port, or set another one"
            ) from None


def _load_server() -> Callable[..., tuple[uvicorn.Server, asyncio.Event]]:
    """Import uvicorn (which takes a while) and return a way to make our kind of its server."""
    import uvicorn

    from vixio.transports.xiaozhi import http_guard

    class Server(uvicorn.Server):
        """Tells when it listens, and leaves the signals alone."""

        def __init__(self, config: uvicorn.Config) -> None:
            super().__init__(config)
            self.listening = asyncio.Event()

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=sockets)
            self.listening.set()

    def make(
        app: Starlette, visitors: Visitors, count: Callable[[str], None]
    ) -> tuple[uvicorn.Server, asyncio.Event]:
        config = uvicorn.Config(
            app,
            http=http_guard.guarded(visitors, count),
            limit_concurrency=http_guard.MAX_CONNECTIONS,
            timeout_keep_alive=http_guard.KEEP_ALIVE_S,
            h11_max_incomplete_event_size=http_guard.MAX_HEAD_BYTES,
            backlog=http_guard.BACKLOG,
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # OtaSettings.trusted_proxies decides
            timeout_graceful_shutdown=2,
        )
        server = Server(config)
        return server, server.listening

    return make

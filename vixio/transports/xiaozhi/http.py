"""The HTTP side: the OTA endpoint through which a device finds the server, and the health page."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from loguru import logger

from vixio import __version__
from vixio.core.errors import ConfigError
from vixio.transports.xiaozhi.ota import OtaSettings, ota_answer

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

MAX_BODY_BYTES = 64 * 1024
"""A device's system information has about 2 KB."""


def create_http_app(
    settings: OtaSettings, status: Callable[[], Mapping[str, Any]] = dict
) -> Starlette:
    """Return the ASGI application. ``status`` adds gauges to the health page."""
    from starlette.applications import Starlette
    from starlette.requests import ClientDisconnect
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    counters = settings.counters

    async def ota(request: Request) -> Response:
        counters.add("http.ota")
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
        return JSONResponse(ota_answer(settings, request.headers, body, own_host))

    async def activate(request: Request) -> Response:
        # 200: done. No device is asked to activate; one that asks by itself shall not try again.
        return JSONResponse({})

    async def health(request: Request) -> Response:
        page = {"status": "ok", "version": __version__, **status()}
        return JSONResponse({**page, "counters": counters.snapshot()})

    path = settings.ota_path.rstrip("/")
    routes = [Route(path + end, ota, methods=["GET", "POST"]) for end in ("", "/") if path + end]
    routes += [
        Route(f"{path}/activate{end}", activate, methods=["GET", "POST"]) for end in ("", "/")
    ]
    routes.append(Route("/healthz", health, methods=["GET"]))
    return Starlette(routes=routes)


class HttpServer:
    """Serves an ASGI application inside the running loop; the process keeps its own signals."""

    def __init__(self, app: Starlette, host: str, port: int) -> None:
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
        self._server, started = server_class(self._app)
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
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        sock = socket.socket(family)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((self._host, self._port))
        except OSError as error:
            sock.close()
            raise ConfigError(
                f"cannot listen on {self._host}:{self._port} for HTTP: {error.strerror}; "
                "stop the program that has the port, or set another one"
            ) from None
        return sock


def _load_server() -> Callable[[Starlette], tuple[uvicorn.Server, asyncio.Event]]:
    """Import uvicorn (which takes a while) and return a way to make our kind of its server."""
    import uvicorn

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

    def make(app: Starlette) -> tuple[uvicorn.Server, asyncio.Event]:
        config = uvicorn.Config(
            app,
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # OtaSettings.trust_forwarded decides
            timeout_graceful_shutdown=2,
        )
        server = Server(config)
        return server, server.listening

    return make

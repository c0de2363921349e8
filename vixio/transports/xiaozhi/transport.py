"""The WebSocket server for xiaozhi devices."""

from __future__ import annotations

import asyncio
import functools
import traceback
import uuid
from collections.abc import Coroutine
from http import HTTPStatus
from time import monotonic
from typing import Any

from loguru import logger
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed as SocketClosed
from websockets.http11 import Request, Response
from websockets.protocol import State

from vixio.core.device import Device
from vixio.core.errors import ConfigError, ConnectionClosed, VixioError
from vixio.core.tools.types import JsonObject
from vixio.core.transport import (
    GOING_AWAY,
    REPLACED,
    DeviceToolsCallback,
    SessionHandler,
    TransportBase,
)
from vixio.transports.admission.addresses import Proxies, parse_address
from vixio.transports.admission.connection_tracker import ConnectionTracker
from vixio.transports.admission.learned_limit import LearnedLimit
from vixio.transports.admission.listener import BACKLOG, NO_DESCRIPTORS, Listener
from vixio.transports.admission.loop_lag import LoopLag
from vixio.transports.admission.refusal import Refusal
from vixio.transports.xiaozhi.connection import (
    POLICY_VIOLATION,
    XiaozhiConnection,
    close_socket,
)
from vixio.transports.xiaozhi.hello import Hello, HelloRefused, parse_hello
from vixio.transports.xiaozhi.opus import load_codec
from vixio.transports.xiaozhi.protocol import (
    MAX_MESSAGE_BYTES,
    Ignored,
    XiaozhiProtocol,
    parse_object,
)
from vixio.transports.xiaozhi.settings import XiaozhiSettings
from vixio.transports.xiaozhi.wake_words import WakeWords
from vixio.transports.xiaozhi.websocket.admission import Admission, Identity
from vixio.transports.xiaozhi.websocket.device_socket import DeviceSocket, LibraryLog
from vixio.transports.xiaozhi.websocket.handshakes import Handshakes, socket_factory

INTERNAL_ERROR = 1011
SOCKETS = "sockets"
"""The name of the shared count of connections past their upgrade."""

HANDLER_GRACE_S = 5.0
"""How long a session may take to end when the server stops; then it is cancelled."""


class XiaozhiTransport(TransportBase):
    """Lets devices in, agrees with each on how to speak, and hands it to the session's handler."""

    def __init__(self, settings: XiaozhiSettings | None = None) -> None:
        self._settings = settings if settings is not None else XiaozhiSettings()
        self._counters = self._settings.counters
        self._wake_words = WakeWords(self._settings.wake_words)
        self._server: Server | None = None
        self._handler: SessionHandler | None = None
        self._identities: dict[DeviceSocket, Identity] = {}
        self._connections: dict[str, XiaozhiConnection] = {}  # by session id
        self._by_device: dict[str, XiaozhiConnection] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        limits = self._settings.limits
        self._lag = LoopLag(limits.loop_lag_ms / 1000)
        self._cluster = self._settings.cluster
        self._proxies = Proxies(self._settings.trusted_proxies)
        self._tracker = ConnectionTracker(
            limits,
            self._proxies,
            monotonic,
            cluster=self._cluster,
        )
        self._handshakes = Handshakes(limits, self._tracker, self._counters)
        self._admission = Admission(
            self._settings,
            self._tracker,
            count=lambda: len(self._identities) + self._cluster.limits.others(SOCKETS),
            is_known=lambda device_id: (
                device_id in self._by_device or self._cluster.presence.elsewhere(device_id)
            ),
            is_busy=self._is_busy,
        )
        self._learned = LearnedLimit(
            lambda: self._lag.late_at, lambda: len(self._identities), monotonic
        )
        self._loading = False

    @property
    def port(self) -> int:
        """The port that is listened on, also where the settings say 0."""
        if self._server is None:
            return self._settings.port
        port: int = next(iter(self._server.sockets)).getsockname()[1]
        return port

    async def start(self, handler: SessionHandler) -> None:
        """Listen. Raises ConfigError if the port is taken or libopus is missing."""
        await asyncio.to_thread(load_codec)
        settings = self._settings
        self._handler = handler
        self._admission.closing = False
        turned_away = functools.partial(self._counters.add, NO_DESCRIPTORS.counter)
        try:
            listener = Listener(
                settings.host, settings.port, turned_away, shared=settings.share_port
            )
            self._server = await serve(
                self._serve,
                sock=listener,
                backlog=BACKLOG,
                process_request=self._process_request,
                # A class is asked for, and called: a function does as well.
                create_connection=socket_factory(self._handshakes),  # type: ignore[arg-type]
                compression=None,  # Opus does not compress, and deflate costs 50 KB a device
                server_header=None,
                open_timeout=settings.hello_timeout,
                ping_interval=None,  # XiaozhiConnection.keep_alive pings
                close_timeout=settings.close_timeout,
                max_size=MAX_MESSAGE_BYTES,
                logger=LibraryLog(lambda: self._counters.add("xiaozhi.refused.handshake")),
            )
        except OSError as error:
            raise ConfigError(
                f"cannot listen on {settings.host}:{settings.port} for devices: {error.strerror}; "
                "stop the program that has the port, or set another one"
            ) from None
        self._lag.start()
        logger.bind(host=settings.host, port=self.port).info("listening for devices")

    async def stop(self) -> None:
        """Refuse new devices, close all (1001) and free the port. Idempotent."""
        server, self._server = self._server, None
        if server is None:
            return
        self._admission.closing = True
        self._lag.stop()
        reason = "the server is stopping"
        for connection in self._connections.values():
            connection.end(reason, GOING_AWAY, reason)
        server.close(code=GOING_AWAY, reason=reason)
        # Beside it our own closing, which does not wait for a device that reads nothing.
        timeout = self._settings.close_timeout
        sockets = list(self._identities)
        await asyncio.gather(
            *(close_socket(socket, GOING_AWAY, reason, timeout) for socket in sockets), *self._tasks
        )
        for opening in list(server.handlers):
            if opening.state is State.CONNECTING:  # a browser's spare connection never says more
                opening.transport.abort()
        closed = asyncio.ensure_future(server.wait_closed())
        await asyncio.wait([closed], timeout=HANDLER_GRACE_S)
        for hanging in list(server.handlers.values()):
            hanging.cancel()
        await closed

    @property
    def loading(self) -> bool:
        """Does the server load what is heavy? The loop's lateness turns nobody away meanwhile."""
        return self._loading

    @loading.setter
    def loading(self, value: bool) -> None:
        self._loading = value
        self._lag.forget()

    def set_device_tools_callback(self, session_id: str, callback: DeviceToolsCallback) -> None:
        """Have ``callback`` told the device's tools, now if known and whenever they change."""
        connection = self._connections.get(session_id)
        if connection is not None:
            connection.add_tools_callback(callback)

    def is_live(self, session_id: str, device_id: str) -> bool:
        """Whether the session runs; for a device on another process, whether it is connected."""
        if session_id in self._connections:
            return True
        return self._cluster.presence.elsewhere(device_id)

    def stats(self) -> dict[str, Any]:
        """Return how many devices are connected, of how many, and how the loop keeps up."""
        return {
            "connected": len(self._connections),
            "max_connections": self._settings.max_connections,
            "handshakes": self._handshakes.handshakes,
            "addresses": self._tracker.addresses,
            "overloaded": self._is_busy(),
            "loop_lag_p95_ms": round(self._lag.p95 * 1000, 1),
            "loop_lag_median_ms": round(self._lag.median * 1000, 1),
        }

    def _is_busy(self) -> bool:
        return not self._loading and (self._lag.busy or self._learned.full)

    def _process_request(self, socket: ServerConnection, request: Request) -> Response | None:
        assert isinstance(socket, DeviceSocket)  # noqa: S101  start() makes no other
        verdict = self._admission.check(request, socket.tracked)
        if isinstance(verdict, Refusal):
            logger.bind(reason=verdict.reason).debug("request refused")
            response = socket.respond(verdict.status, verdict.message)
            response.headers.update(verdict.headers)
            if verdict.status is HTTPStatus.UNAUTHORIZED:
                response.headers["WWW-Authenticate"] = "Bearer"
            if verdict.status is HTTPStatus.UPGRADE_REQUIRED:
                response.headers["Upgrade"] = "websocket"
            return response
        self._handshakes.admitted(socket)
        self._identities[socket] = verdict
        self._cluster.limits.set(SOCKETS, "", len(self._identities))
        socket.on_excess = lambda what: self._cut_off(socket, verdict, what)
        socket.on_lost = lambda: self._forget(socket)
        return None

    def _forget(self, socket: DeviceSocket) -> None:
        self._identities.pop(socket, None)
        self._cluster.limits.set(SOCKETS, "", len(self._identities))

    async def _serve(self, socket: ServerConnection) -> None:
        """Serve one device from its upgrade to its end; the library's task, so it never raises."""
        assert isinstance(socket, DeviceSocket)  # noqa: S101  start() makes no other
        identity = self._identities[socket]
        connection: XiaozhiConnection | None = None
        code, reason = 1000, ""
        try:
            hello = await self._receive_hello(socket, identity)
            self._handshakes.greeted(socket)
            if isinstance(hello, HelloRefused):
                self._counters.add(f"xiaozhi.refused.hello.{hello.reason}")
                logger.bind(device_id=identity.device_id, reason=hello.reason).warning(
                    "hello refused"
                )
                code, reason = POLICY_VIOLATION, hello.message
                return
            connection = self._open(socket, identity, hello)
            await connection.send_hello()
            await self._converse(connection, hello, socket)
        except (ConnectionClosed, SocketClosed):
            pass  # the device is gone, which is how every conversation ends
        except Exception as error:  # noqa: BLE001  one session's bug must not reach the wire or others
            self._counters.add("xiaozhi.closed.handler_failed")
            logger.bind(device_id=identity.device_id, **_describe(error)).error("session failed")
            code, reason = INTERNAL_ERROR, "internal error"
        finally:
            if connection is None:
                await close_socket(socket, code, reason, self._settings.close_timeout)
            else:
                self._leave(connection)
                await connection.close(code, reason)
            self._forget(socket)

    async def _receive_hello(
        self, socket: DeviceSocket, identity: Identity
    ) -> Hello | HelloRefused:
        timeout = self._settings.hello_timeout
        try:
            async with asyncio.timeout(timeout):
                data = await socket.inbox.get()
        except TimeoutError:
            return HelloRefused("timeout", f"no hello within {timeout:g} s")
        except EOFError:
            raise ConnectionClosed("the device is gone") from None
        message = parse_object(data) if isinstance(data, str) else Ignored("binary")
        if isinstance(message, Ignored) or message.get("type") != "hello":
            return HelloRefused("missing", "the first message must be a hello")
        return parse_hello(message, identity.version)

    def _open(self, socket: DeviceSocket, identity: Identity, hello: Hello) -> XiaozhiConnection:
        protocol = XiaozhiProtocol(str(uuid.uuid4()), hello.version, self._wake_words)
        socket.quota.agree(hello.version)
        device = Device(
            identity.device_id,
            client_id=identity.client_id,
            address=socket.tracked.address,
            features=hello.features,
            sent_id=identity.sent_id,
        )
        connection = XiaozhiConnection(socket, protocol, device, self._settings)
        socket.intercept = connection.intercept

        def lost() -> None:
            self._forget(socket)
            connection.end("the device is gone")

        def excess(what: str) -> None:
            connection.end(what, POLICY_VIOLATION, what)
            self._cut_off(socket, identity, what)

        socket.on_lost = lost
        socket.on_excess = excess
        return connection

    def _cut_off(self, socket: DeviceSocket, identity: Identity, what: str) -> None:
        """Close a connection that sent too much; its session is told by ``connection.end``."""
        self._counters.add("xiaozhi.closed.too_much")
        logger.bind(device_id=identity.device_id, reason=what).warning("connection cut off")
        self._tracker.penalise(socket.tracked)
        self._spawn(close_socket(socket, POLICY_VIOLATION, what, self._settings.close_timeout))

    async def _converse(
        self, connection: XiaozhiConnection, hello: Hello, socket: ServerConnection
    ) -> None:
        """Run the handler with everything that goes on beside it."""
        assert self._handler is not None  # noqa: S101  start() sets it before listening
        self._enter(connection)
        if "mcp" in hello.features:
            connection.start_tools(self._vision(connection, socket))
        keep_alive = asyncio.create_task(connection.keep_alive())
        try:
            await self._handler(connection)
        finally:
            keep_alive.cancel()
            await asyncio.wait([keep_alive])

    def _vision(self, connection: XiaozhiConnection, socket: ServerConnection) -> JsonObject | None:
        """Return what the device's camera is told, if somebody can look at its photos."""
        offer, request = self._settings.vision, socket.request
        if offer is None or request is None:
            return None
        headers = {name.lower(): value for name, value in request.headers.raw_items()}
        return offer.for_session(
            connection.session_id,
            connection.device.id,
            headers,
            _own_host(socket),
            trust_forwarded=self._proxies.trusts(parse_address(str(socket.remote_address[0]))),
        )

    def _enter(self, connection: XiaozhiConnection) -> None:
        self._counters.add("xiaozhi.connections")
        self._connections[connection.session_id] = connection
        older = self._by_device.get(connection.device.id)
        self._by_device[connection.device.id] = connection
        if older is not None:
            self._replace(older)

    def _replace(self, older: XiaozhiConnection) -> None:
        self._counters.add("xiaozhi.closed.replaced")
        # Its socket is often half dead; the newer conversation does not wait for that.
        older.end("replaced by a newer connection", REPLACED, "replaced by a newer connection")
        self._spawn(older.close())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _leave(self, connection: XiaozhiConnection) -> None:
        self._connections.pop(connection.session_id, None)
        if self._by_device.get(connection.device.id) is connection:
            del self._by_device[connection.device.id]


def _own_host(socket: ServerConnection) -> str:
    """Return our address of this connection, as it stands in a URL."""
    address = socket.local_address
    host = str(address[0]) if address else "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def _describe(error: BaseException) -> dict[str, str]:
    """Return an error's class and place. Its message only if it is ours: others quote user data."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    frames = traceback.extract_tb(error.__traceback__)
    return {
        "error": type(error).__name__,
        "at": f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "",
        "detail": str(error) if isinstance(error, VixioError) else "",
    }

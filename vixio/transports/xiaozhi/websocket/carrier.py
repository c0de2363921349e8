"""The WebSocket carrier: listens, admits devices, and runs the transport for each."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from http import HTTPStatus
from typing import Any

from websockets.http11 import Request, Response

from vixio.core.tasks import cancel_and_wait
from vixio.core.transport import GOING_AWAY
from vixio.transports.admission.admission import STOPPING as REFUSED_AT_STOP
from vixio.transports.admission.admission import Admission
from vixio.transports.admission.forwarded import stated_clients
from vixio.transports.admission.hosts import HostPolicy
from vixio.transports.admission.listener import BACKLOG, NO_DESCRIPTORS, Listener
from vixio.transports.admission.origin import OriginPolicy
from vixio.transports.admission.port_errors import port_error
from vixio.transports.admission.refusal import Refusal
from vixio.transports.xiaozhi.channel import ADDRESS_HEADERS, Carrier, Serve
from vixio.transports.xiaozhi.settings import XiaozhiSettings
from vixio.transports.xiaozhi.websocket.channel import WebSocketChannel
from vixio.transports.xiaozhi.websocket.handshakes import Handshakes
from vixio.transports.xiaozhi.websocket.link import READ_BYTES
from vixio.transports.xiaozhi.websocket.quota import InputQuota
from vixio.transports.xiaozhi.websocket.request import check_request, read_field, read_identity

POLICY_VIOLATION = 1008

STOPPING = "the server is stopping"

SERVE_GRACE_S = 5.0
"""How long a session may take to end when the server stops; then it is cancelled."""

_log = logging.getLogger(__name__)


class WebSocketCarrier(Carrier):
    """One port, and what comes to :meth:`take_over` by another one. It owns its channels: their
    tasks end with :meth:`stop`."""

    def __init__(self, settings: XiaozhiSettings, admission: Admission) -> None:
        self._settings = settings
        self._admission = admission
        self._origins = OriginPolicy(settings.allowed_origins)
        self._hosts = HostPolicy(settings.hosts)
        self._counters = admission.counters
        self._handshakes = Handshakes(admission.limits, admission.counters)
        self._server: asyncio.Server | None = None
        self._serve: Serve | None = None
        self._stopping = False
        self._connected: set[WebSocketChannel] = set()
        self._admitted: set[WebSocketChannel] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._read_buffer = bytearray(READ_BYTES)

    @property
    def port(self) -> int:
        """The port that is listened on, also where the settings say 0."""
        if self._server is None:
            return self._settings.port
        port: int = next(iter(self._server.sockets)).getsockname()[1]
        return port

    async def start(self, serve: Serve) -> None:
        """Listen. Raises ConfigError if the port is taken."""
        settings = self._settings
        self._serve = serve
        self._stopping = False
        try:
            listener = Listener(
                settings.host, settings.port, self._turned_away, shared=settings.share_port
            )
            self._server = await asyncio.get_running_loop().create_server(
                self._make_channel, sock=listener, backlog=BACKLOG
            )
        except OSError as error:
            raise port_error(settings.host, settings.port, "port", error) from None
        _log.info("listening for devices", extra={"host": settings.host, "port": self.port})

    async def stop(self) -> None:
        """End handshakes, close all devices (1001) and free the port. Idempotent."""
        server, self._server = self._server, None
        if server is None:
            return
        self._stopping = True
        server.close()
        self._handshakes.abort_all()
        await asyncio.gather(*(channel.close(GOING_AWAY, STOPPING) for channel in self._connected))
        if self._tasks:
            _, hanging = await asyncio.wait(self._tasks, timeout=SERVE_GRACE_S)
            await cancel_and_wait(*hanging)
        await server.wait_closed()

    def take_over(self, request: bytes) -> WebSocketChannel | Refusal:
        """Make the channel of a connection that came to another port, where ``request`` to this
        path was read. It counts as one of this port's; while that is closed it is refused."""
        if self._server is None:
            return REFUSED_AT_STOP
        channel = self._make_channel()
        channel.read_before = request
        return channel

    def stats(self) -> dict[str, int]:
        """Return how many connections have not said hello yet."""
        return {"handshakes": len(self._handshakes)}

    # ── what channels call ──────────────────────────────────────────────────────────────────────

    def connected(self, channel: WebSocketChannel) -> None:
        """Take a new connection."""
        self._connected.add(channel)
        peer = channel.tcp.get_extra_info("peername")
        channel.tracked = self._admission.tracker.arrive(str(peer[0]) if peer else "")
        channel.quota = InputQuota(self._admission.limits)
        self._handshakes.connected(channel)
        if self._stopping:  # it was accepted just before the port was closed
            channel.abort()

    def requested(self, channel: WebSocketChannel, request: Request) -> Response:
        """Decide on a request."""
        refusal = self._check(channel, request)
        if refusal is None:
            return channel.accept(request)
        self._admission.refused(refusal.reason, channel.tracked.address, channel.identity.device_id)
        response = channel.reject(refusal.status, refusal.message)
        response.headers.update(refusal.headers)
        if refusal.status is HTTPStatus.UNAUTHORIZED:
            response.headers["WWW-Authenticate"] = "Bearer"
        if refusal.status is HTTPStatus.UPGRADE_REQUIRED:
            response.headers["Upgrade"] = "websocket"
        return response

    def opened(self, channel: WebSocketChannel) -> None:
        """Serve an admitted device."""
        assert self._serve is not None  # noqa: S101  start() sets it before listening
        self._handshakes.admitted(channel)
        self._admitted.add(channel)
        self._admission.admit(channel.identity.device_id)
        self._spawn(self._run(self._serve, channel))

    def agreed(self, channel: WebSocketChannel) -> None:
        """The hello has arrived."""
        self._handshakes.greeted(channel)

    def dropped(self, channel: WebSocketChannel, what: str) -> None:
        """Count what was too much."""
        self._counters.add(f"xiaozhi.limited.{what.replace(' ', '_')}")

    def handshake_failed(self, channel: WebSocketChannel) -> None:
        """Count it. Port scanners do this all day: it is not logged."""
        self._counters.add("xiaozhi.refused.handshake")

    def cut_off(self, channel: WebSocketChannel, why: str) -> None:
        """Close a channel that sent too much."""
        self._counters.add("xiaozhi.closed.too_much")
        if channel.listener is None:  # else it has logged it, with its session
            fields = {"device": channel.identity.device_id, "reason": why}
            _log.warning("connection cut off", extra=fields)
        self._admission.tracker.penalise(channel.tracked)
        self._spawn(channel.close(POLICY_VIOLATION, why))

    def ended(self, channel: WebSocketChannel) -> None:
        """Make room for another device."""
        if channel in self._admitted:
            self._admitted.discard(channel)
            self._admission.depart(channel.identity.device_id)

    def disconnected(self, channel: WebSocketChannel) -> None:
        """Forget a connection."""
        self._connected.discard(channel)
        self._handshakes.gone(channel)
        self._admission.tracker.leave(channel.tracked)

    def _check(self, channel: WebSocketChannel, request: Request) -> Refusal | None:
        admission = self._admission
        forwarded = stated_clients(request.headers.get_all)
        admission.tracker.announce(channel.tracked, forwarded)
        behind_proxy = admission.proxies.trusts(channel.tracked.peer)
        refusal = check_request(
            request, self._settings.path, self._origins, self._hosts, behind_proxy=behind_proxy
        )
        if refusal is not None:
            self._counters.add(refusal.counter("xiaozhi"))
            return refusal
        channel.identity = read_identity(request)
        channel.version = read_field(request, "Protocol-Version")
        channel.headers = {
            key: value
            for name, value in request.headers.raw_items()
            if (key := name.lower()) in ADDRESS_HEADERS
        }
        channel.own_host = _own_host(channel.tcp)
        channel.behind_proxy = behind_proxy
        return admission.check(channel.identity, channel.tracked)

    def _turned_away(self) -> None:
        self._counters.add(NO_DESCRIPTORS.counter("admission"))
        self._admission.refused(NO_DESCRIPTORS.reason)

    def _make_channel(self) -> WebSocketChannel:
        settings = self._settings
        return WebSocketChannel(
            self, self._read_buffer, settings.timeouts.hello, settings.close_timeout
        )

    async def _run(self, serve: Serve, channel: WebSocketChannel) -> None:
        try:
            await serve(channel)
        finally:
            channel.abort()  # nothing is left to do, unless the task was cancelled

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _own_host(tcp: asyncio.Transport) -> str:
    """Return the server's address of this connection, as it stands in a URL."""
    address = tcp.get_extra_info("sockname")
    host = str(address[0]) if address else "127.0.0.1"
    return f"[{host}]" if ":" in host else host

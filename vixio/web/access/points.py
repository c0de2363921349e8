"""The access points of a process: admits tool servers, and offers their tools to their sessions."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from http import HTTPStatus
from itertools import count
from time import monotonic
from typing import Any, Final

from websockets.frames import CloseCode
from websockets.http11 import Request, Response

from vixio.core.cluster import NOT_CONNECTED, Cluster, ClusterUnavailable, LossReason
from vixio.core.commands import Command, CommandResult
from vixio.core.device import ACCESS_PREFIX
from vixio.core.errors import VixioError
from vixio.core.tasks import cancel_and_wait
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.source import Scope, ToolSource
from vixio.core.tools.types import JsonObject
from vixio.data.devices.access_points import digest
from vixio.data.devices.registry_cache import RegistrySnapshot
from vixio.transports.admission.admission import OVERLOADED, STOPPING, Admission
from vixio.transports.admission.forwarded import stated_clients
from vixio.transports.admission.limits import KeyedBuckets
from vixio.transports.admission.refusal import Refusal, busy, too_many
from vixio.transports.xiaozhi.websocket.request import read_field
from vixio.web.access.link import AccessLink
from vixio.web.access.remote import RemoteServers, answer
from vixio.web.access.server import AccessServer
from vixio.web.http.upgrade import MakeProtocol

PATHS: Final = ("/mcp", "/mcp_endpoint/mcp")
"""The second one is that of xinnan-tech/xiaozhi-esp32-server."""

MAX_AT_ONE: Final = 16
"""Servers at one address."""

MAX_IN_ALL: Final = 512
"""Servers of a process."""

WRONG_PER_MIN: Final = 30.0
"""Wrong tokens of an address; the right one is never refused for them."""

READ_BYTES: Final = 8 * 1024
WRONG: Final = "access_wrong"
SERVERS: Final = "access_servers"
CHANGED: Final = "access_changed"

UNKNOWN: Final = Refusal(
    HTTPStatus.UNAUTHORIZED,
    "token",
    "This address is not valid, or not any more.\n",
)
FULL: Final = busy("servers", f"There are {MAX_AT_ONE} tool servers at this address already.\n")
STARTING: Final = busy("starting", "The server is starting, try again.\n", retry_after=1.0)

_log = logging.getLogger(__name__)


class AccessPoints:
    """``known`` says whose tokens there are, ``catch_up`` reads what has changed."""

    def __init__(
        self,
        runtime: ToolRuntime,
        known: RegistrySnapshot,
        catch_up: Callable[[], Awaitable[None]],
        admission: Admission,
    ) -> None:
        self._runtime = runtime
        self._known = known
        self._catch_up = catch_up
        self._admission = admission
        self._cluster: Cluster = admission.cluster
        self._links: set[AccessLink] = set()
        self._servers: dict[str, AccessServer] = {}
        """Those whose tools are offered, by id."""
        self._connected: Counter[str] = Counter()
        """Admitted connections, by the digest of their token."""
        self._wrong = KeyedBuckets(WRONG_PER_MIN)
        self._buffer = bytearray(READ_BYTES)
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        self._elsewhere = RemoteServers(self._cluster, self._rows, runtime.exchange, self._free)
        self._cluster.limits.on_charge(WRONG, self._wrong_elsewhere)
        self._cluster.broadcast.on_message(CHANGED, lambda _: self.spawn(self._read()))

    @property
    def paths(self) -> Mapping[str, MakeProtocol]:
        """What takes connections over, by path."""
        return dict.fromkeys(PATHS, self.make)

    def begin(self) -> None:
        """Begin to follow the other processes."""
        self._elsewhere.begin()

    def make(self, request: bytes) -> AccessLink | Refusal:
        """Return the protocol for a request to one of :data:`PATHS`."""
        if self._closed:
            return STOPPING
        return AccessLink(self, self._buffer, request)

    def servers(self, scope: Scope) -> Sequence[ToolSource]:
        """Return the servers of a profile or device that are connected, to whichever process."""
        every = (*self._servers.values(), *self._elsewhere.servers.values())
        found = [each for each in every if each.scope == scope]
        return sorted(found, key=lambda each: each.name)

    def changed(self) -> None:
        """An access point was made or revoked here: other processes read it at once."""
        self._cluster.broadcast.send(CHANGED, {})

    def look_again(self) -> None:
        """Close the connections whose token is void."""
        for link in tuple(self._links):
            if link.digest and link.digest not in self._known.access:
                link.end(CloseCode.POLICY_VIOLATION, "this address is not valid any more")

    async def answer(self, device_id: str, command: Command) -> CommandResult:
        """Carry out a command to a server of this process."""
        server = self._servers.get(device_id.removeprefix(ACCESS_PREFIX))
        return NOT_CONNECTED if server is None else await answer(server, command)

    async def close(self) -> None:
        """Close all connections; none is taken any more. Idempotent."""
        self._closed = True
        await self._elsewhere.close()
        for link in tuple(self._links):
            link.end(CloseCode.GOING_AWAY, "the server is stopping")
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=5.0)
            await cancel_and_wait(*late)

    # ── what links call ─────────────────────────────────────────────────────────────────────────

    def connected(self, link: AccessLink) -> None:
        """Take a new connection."""
        self._links.add(link)
        peer = link.tcp.get_extra_info("peername")
        link.tracked = self._admission.tracker.arrive(str(peer[0]) if peer else "")

    def requested(self, link: AccessLink, request: Request) -> Response:
        """Decide on a request."""
        refusal = self._check(link, request)
        if refusal is None:
            response = link.accept(request)
            if response.status_code == HTTPStatus.SWITCHING_PROTOCOLS:
                self._publish(link.digest, 1)
            else:
                link.digest = ""
            return response
        link.digest = ""
        self._admission.counters.add(refusal.counter("access"))
        self._admission.refused(f"access_{refusal.reason}", link.tracked.address)
        response = link.reject(refusal.status, refusal.message)
        response.headers.update(refusal.headers)
        return response

    def opened(self, link: AccessLink) -> None:
        """Ask an admitted server for its tools."""
        self.spawn(self._serve(link))

    def count(self, what: str) -> None:
        """Count what a link reports."""
        self._admission.counters.add(f"access.{what}")

    def disconnected(self, link: AccessLink) -> None:
        """Forget a connection."""
        self._links.discard(link)
        self._admission.tracker.leave(link.tracked)
        if link.digest:
            self._publish(link.digest, -1)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run ``work`` beside; :meth:`close` waits for it."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # ── inside ──────────────────────────────────────────────────────────────────────────────────

    def _check(self, link: AccessLink, request: Request) -> Refusal | None:
        admission, tracked = self._admission, link.tracked
        admission.tracker.announce(tracked, stated_clients(request.headers.get_all))
        if self._closed or admission.stopping:
            return STOPPING
        if tracked.refusal is not None:
            return tracked.refusal
        if admission.overloaded:
            return OVERLOADED
        if not self._known.loaded:
            return STARTING
        bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
        key = digest(read_field(request, "token") or bearer.strip())
        scope = self._known.access.get(key)
        if scope is None:
            return self._wrong_token(tracked.key)
        at_this = self._connected.get(key, 0) + self._cluster.limits.others(SERVERS, key)
        if at_this >= MAX_AT_ONE or self._connected.total() >= MAX_IN_ALL:
            return FULL
        link.digest, link.scope = key, scope
        return None

    def _wrong_token(self, address: str) -> Refusal:
        wait = self._wrong.take(address, monotonic())
        if wait:
            return too_many("wrong_tokens", "Too many wrong tokens from your address.\n", wait)
        self._cluster.limits.charge(WRONG, address)
        return UNKNOWN

    def _wrong_elsewhere(self, address: str, number: int) -> None:
        self._wrong.charge(address, number, monotonic())

    def _publish(self, key: str, change: int) -> None:
        self._connected[key] += change
        self._cluster.limits.set(SERVERS, key, self._connected[key])
        if not self._connected[key]:
            del self._connected[key]

    async def _serve(self, link: AccessLink) -> None:
        server = AccessServer(link, self._up, self._over)
        lease = None

        async def lost(reason: LossReason) -> None:
            link.end(CloseCode.TRY_AGAIN_LATER, "the server lost its place in the cluster")

        try:
            if self._cluster.shared:
                lease = await self._cluster.leases.acquire(f"{ACCESS_PREFIX}{server.id}", lost)
            await server.start()
            await server.ended()
        except ClusterUnavailable:
            link.end(CloseCode.TRY_AGAIN_LATER, "the server is not ready, try again")
        finally:
            if lease is not None:
                await lease.release()

    def _up(self, server: AccessServer) -> None:
        server.named(self._free(server.stated_name, server.scope))
        self._servers[server.id] = server
        self._runtime.exchange((), [server])
        server.watch(lambda _: self._elsewhere.tell())
        self._elsewhere.tell()
        self.count("connected")
        tools = len(server.tools())
        fields = server.link.fields(server=server.name, tool_count=tools)
        _log.info("tool server connected to its access point", extra=fields)

    def _over(self, server: AccessServer) -> None:
        if self._servers.pop(server.id, None) is not None:
            self._runtime.exchange([server.key], ())
            self._elsewhere.tell()
        fields = server.link.fields(server=server.name, reason=server.reason)
        _log.info("tool server left its access point", extra=fields)

    def _free(self, name: str, scope: Scope) -> str:
        """Return ``name``, with a number if a source of this scope has it."""
        names = (name if number == 1 else f"{name}-{number}" for number in count(1))
        return next(each for each in names if not self._runtime.has(each, scope))

    def _rows(self) -> list[JsonObject]:
        return [
            {
                "id": server.id,
                "name": server.stated_name,
                "profile": server.scope.profile,
                "device": server.scope.device,
                "version": server.version,
            }
            for server in self._servers.values()
        ]

    async def _read(self) -> None:
        try:
            await self._catch_up()
        except VixioError as error:  # the next look, a second later, reads it
            _log.debug("access points not read", extra={"reason": str(error)})

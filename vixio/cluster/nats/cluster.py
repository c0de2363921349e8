"""The cluster as one of its nodes sees it."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from vixio.bus.address import BrokerAddress
from vixio.bus.errors import BrokerError
from vixio.cluster.nats.balance import URL, Balance
from vixio.cluster.nats.bucket import Bucket
from vixio.cluster.nats.claims import Claims
from vixio.cluster.nats.commands import NatsCommands
from vixio.cluster.nats.conversations import MAX_AGE_S, MAX_BYTES, Conversations
from vixio.cluster.nats.joining import Joining
from vixio.cluster.nats.leases import NatsLeases
from vixio.cluster.nats.link import Link, Unsendable
from vixio.cluster.nats.names import ASK, CONVERSATIONS, DEVICES, NEWS, STATE
from vixio.cluster.nats.peer_rpc import PeerRpc
from vixio.cluster.nats.peers import Peers
from vixio.cluster.nats.presence import NatsPresence
from vixio.cluster.nats.revalidation import LeaseRevalidator
from vixio.cluster.nats.rows import Table
from vixio.cluster.nats.state import State
from vixio.core.clock import awake
from vixio.core.cluster import RELEASE_S, Broadcast, Charged, Cluster, OnBroadcast, SharedLimits
from vixio.core.errors import ConfigError
from vixio.core.metrics import Counters
from vixio.core.tasks import cancel_and_wait
from vixio.core.tools.types import JsonObject

STALL_S: Final = 1.5
"""A process that stood still for so long trusts no lease until it has looked again. Less than
``RELEASE_S``, after which the next holder goes on without an answer."""

_BEAT_S: Final = 0.25


class StallDetector:
    """Detects stalls of the process: stopped, swapped out, or its event loop blocked.

    ``stalled``: called with the seconds after each. What the process holds may have passed to
    another node meanwhile. The clock also counts the time in which the machine slept.
    """

    def __init__(self, stalled: Callable[[float], None]) -> None:
        self._stalled = stalled
        self._last = awake()

    @property
    def fresh(self) -> bool:
        """Whether the process has not stood still since it last looked."""
        return awake() - self._last < STALL_S

    async def run(self) -> None:
        """Beat until it is cancelled."""
        self._last = awake()
        while True:
            await asyncio.sleep(_BEAT_S)
            gap = awake() - self._last
            if gap >= STALL_S:
                self._stalled(gap)
            self._last = awake()


_log = logging.getLogger(__name__)

DEFAULT_PORT: Final = 4222

MEET_S: Final = 2.0
"""Longest wait of a new node until it knows what the others have."""

MAX_WAITING: Final = 10_000
"""Messages that have not been handed to the client yet; over it the oldest are lost."""

_MAX_NAME: Final = 40

COUNTED: Final = (
    "cluster.stalls",
    *(f"cluster.messages.{why}" for why in ("malformed", "protocol", "secret")),
    *(f"cluster.claims.{why}" for why in ("moved", "reconnected", "overtaken", "fenced")),
)
"""The counters of a node."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node and the cluster that it joins. ``secret``: what all nodes know."""

    name: str
    address: BrokerAddress
    secret: str = field(repr=False)
    reached_at: str = ""
    """Where the other nodes reach this machine; empty: its address towards the broker."""
    replicas: int = 1
    """Servers of NATS that keep the buckets."""
    websocket_url: str = ""
    """Where devices reach it, if OTA is to name the node with the fewest devices."""
    conversations: bool = True
    """Whether conversations are handed over on the bus: no store is shared."""


def name_of_life(name: str) -> str:
    """Return the name of a node in this one of its lives: what its last life had is gone."""
    plain = re.sub("[^a-z0-9_-]", "-", name.lower())[:_MAX_NAME] or "node"
    return f"{plain}-{secrets.token_hex(3)}"


def address_towards(broker: BrokerAddress) -> str:
    """Return this machine's address on the way to a broker; asks for the route, sends nothing."""
    for url in broker.urls:
        split = urlsplit(url)
        port = split.port or DEFAULT_PORT
        try:
            found = socket.getaddrinfo(split.hostname, port, type=socket.SOCK_DGRAM)
            family, kind, protocol, _, address = found[0]
            with socket.socket(family, kind, protocol) as probe:
                probe.connect(address)
                own: str = probe.getsockname()[0]
        except OSError:
            continue  # the name of one server of several may be unknown for now
        return own
    return "127.0.0.1"


class NatsCluster(Cluster):
    """The parts over one connection. Counter: ``cluster.stalls``."""

    leases: NatsLeases
    presence: NatsPresence
    limits: NatsLimits
    commands: NatsCommands
    broadcast: NatsBroadcast

    def __init__(self, node: Node, *, release_timeout: float = RELEASE_S) -> None:
        self._of = node
        name = self.node = name_of_life(node.name)
        counters = Counters()
        for each in COUNTED:
            counters.add(each, 0)  # so that they are there from the start
        link = self._link = Link(node.address, self._join, counters)
        self._joining = Joining(
            name, node.secret, link, lambda: [peer.node for peer in self.peers.nodes], counters
        )
        self._devices = Bucket(link, DEVICES, replicas=node.replicas)
        self._kept = Bucket(
            link,
            CONVERSATIONS,
            max_age=MAX_AGE_S,
            max_bytes=MAX_BYTES,
            replicas=node.replicas,
        )
        self._state = State(name, node.secret, link, {URL: node.websocket_url})
        self.peers = Peers(name, node.secret, self._ask, self._charged, counters)
        self.least_loaded = Balance(node.websocket_url, self._state, self.peers).least_loaded
        """Returns where a device should connect; empty: OTA does not balance."""
        claims = Claims(self._devices, counters)
        self._stalls = StallDetector(self._stalled)
        rpc = PeerRpc(name, link, self.peers.gone, self.peers.table.where)
        leases = NatsLeases(
            name,
            rpc,
            claims,
            Conversations(self._kept, name, counters) if node.conversations else None,
            counters,
            fresh=lambda: self._stalls.fresh,
            held=self._state.device,
            release_timeout=release_timeout,
        )
        rpc.serve(leases)
        self._revalidator = LeaseRevalidator(name, leases, claims, rpc.ask, lambda: link.connected)
        leases.look = self._revalidator.look
        super().__init__(
            leases,
            NatsPresence(node.name, name, link, leases, claims, self.peers),
            NatsLimits(self._state, self.peers.table),
            NatsCommands(name, link, leases, claims, self._gone),
            NatsBroadcast(name, link),
            shared=True,
            counters=counters,
        )
        link.listen(f"{STATE}.*", self.peers.received)
        link.listen(ASK, self._asked)
        link.watchers.append(self._connected)
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def connected(self) -> bool:
        """Whether there is a connection to the other nodes."""
        return self._link.connected

    def problem(self) -> str:
        """Return why this node may not be one of the cluster.

        Without a bus it serves all the same.
        """
        return self.leases.refusal

    def stats(self) -> dict[str, Any]:
        """Return what the health page shows."""
        return {
            "node": self.node,
            "joined": self._link.connected,
            "nodes": len(self.peers.nodes) + 1,
        }

    async def start(self) -> None:
        """Join. Without a bus the node serves by itself and joins when there is one.

        Raises ConfigError if the bus or the cluster refuses it.
        """
        if self._tasks:
            return
        self.reached_at = self._of.reached_at or await asyncio.to_thread(
            address_towards, self._of.address
        )
        await self._link.start()
        self._tasks = [
            asyncio.create_task(work)
            for work in (
                self._stalls.run(),
                self._revalidator.run(),
                self._state.run(),
                self.peers.watch(),
                self.broadcast.run(),
            )
        ]
        try:
            await self._link.ready()
            if refusal := self.leases.refusal or self._link.refusal:
                raise ConfigError(f"cluster: {refusal}")
            with suppress(TimeoutError):  # one of them has just gone
                async with asyncio.timeout(MEET_S):
                    await self.peers.met(self._joining.others)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Leave. The sessions are over. Idempotent."""
        await self.leases.close()
        await cancel_and_wait(*self._tasks)
        if self._tasks and self._link.connected:
            await self._state.leave()
        self._tasks = []
        await self._link.close()

    async def _join(self) -> None:
        """Join with a new connection, before anything is heard on it. Raises BrokerError."""
        try:
            self.leases.refusal = await self._joining.ask()
            if not self.leases.refusal:
                await self._devices.open()
                await self._kept.open()
        except ConfigError as error:
            self.leases.refusal = str(error)
        if self.leases.refusal:
            raise BrokerError(f"refused: {self.leases.refusal}")

    def _connected(self, up: bool) -> None:
        if up:
            self.peers.unheard()
            self._state.send_whole()
            self._revalidator.look_at_all()
            self._ask("")

    def _stalled(self, seconds: float) -> None:
        self.counters.add("cluster.stalls")
        self._revalidator.raise_all(seconds)

    def _gone(self, node: str) -> None:
        self.peers.gone(node, "the bus does not know it")

    def _charged(self, name: str, key: str, amount: int) -> None:
        self.limits.charged(name, key, amount)

    def _ask(self, node: str) -> None:
        self.leases.spawn(self._send_ask(node))

    async def _send_ask(self, node: str) -> None:
        try:
            await self._link.publish(ASK, {"from": self.node, "node": node})
        except BrokerError:
            pass  # asked again when a message shows that something is missing

    def _asked(self, body: dict[str, Any]) -> None:
        if body["from"] != self.node and body["node"] in ("", self.node):
            self._state.send_whole()


class NatsLimits(SharedLimits):
    """Counts and rates of all nodes together, as the others repeat theirs."""

    def __init__(self, state: State, table: Table) -> None:
        self._state = state
        self._table = table
        self._listeners: dict[str, Charged] = {}

    def set(self, name: str, key: str, count: int) -> None:
        """Publish how many of ``key`` this node has."""
        self._state.set(name, key, count)

    def others(self, name: str, key: str = "") -> int:
        """Return how many of ``key`` the other nodes have together."""
        return self._table.sum(name, key)

    def charge(self, name: str, key: str, amount: int = 1) -> None:
        """Publish what a rate limit of all nodes counts."""
        self._state.charge(name, key, amount)

    def on_charge(self, name: str, charged: Charged) -> None:
        """Have ``charged`` called with what other nodes charge."""
        self._listeners[name] = charged

    def charged(self, name: str, key: str, amount: int) -> None:
        """Pass on what another node has charged."""
        if listener := self._listeners.get(name):
            listener(key, amount)


class NatsBroadcast(Broadcast):
    """What this node tells all others: one after another, and lost without a bus."""

    def __init__(self, node: str, link: Link) -> None:
        self._node = node
        self._link = link
        self._listeners: dict[str, OnBroadcast] = {}
        self._waiting: deque[dict[str, Any]] = deque(maxlen=MAX_WAITING)
        self._wake = asyncio.Event()
        link.listen(NEWS, self._received)

    def send(self, topic: str, body: JsonObject) -> None:
        """Send to all other nodes."""
        if self._link.connected:
            self._waiting.append({"node": self._node, "topic": topic, "body": body})
            self._wake.set()

    def on_message(self, topic: str, receive: OnBroadcast) -> None:
        """Have ``receive`` called with what other nodes send."""
        self._listeners[topic] = receive

    async def run(self) -> None:
        """Send until it is cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                try:
                    await self._link.publish(NEWS, self._waiting.popleft())
                except Unsendable:
                    _log.warning("news of a node was too large to send")
                except BrokerError:
                    self._waiting.clear()

    def _received(self, body: dict[str, Any]) -> None:
        if body["node"] == self._node:
            return
        if listener := self._listeners.get(str(body["topic"])):
            listener(dict(body["body"]))

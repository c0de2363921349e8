"""The other nodes: which there are, and what they have."""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Final

from vixio.cluster.nats.names import PROTOCOL, proof_of
from vixio.cluster.nats.rows import Change, Table
from vixio.core.clock import awake
from vixio.core.metrics import Counters
from vixio.core.waiters import Waiters

SILENT_S: Final = 7.0
"""A node that gives no sign of life for so long is taken for gone: three are missing."""

ASK_AGAIN_S: Final = 1.0

_log = logging.getLogger(__name__)

Charged = Callable[[str, str, int], None]


@dataclass(slots=True)
class Peer:
    """Another node. ``about``: what it says of itself with each sign of life."""

    node: str
    heard: float
    number: int = 0
    known: bool = False
    """Whether what it has is here; else it was asked for."""
    pages: list[Change] = field(default_factory=list)
    page: int = 0
    """The next one of the whole that it sends."""
    asked: float = 0.0
    about: dict[str, Any] = field(default_factory=dict)


class Peers:
    """``ask``: has a node send all it has. ``charged``: gets what others charge to rate limits.

    Counters: ``cluster.messages.protocol``, ``.secret``: what nodes say that are none of this
    cluster.
    """

    def __init__(
        self,
        node: str,
        secret: str,
        ask: Callable[[str], None],
        charged: Charged,
        counters: Counters,
    ) -> None:
        self._node = node
        self._secret = secret
        self._ask = ask
        self._charged = charged
        self._counters = counters
        self._peers: dict[str, Peer] = {}
        self._strangers: set[str] = set()
        self._changed = Waiters()
        self.table = Table()

    async def met(self, nodes: Collection[str]) -> None:
        """Wait until it is known what ``nodes`` have."""
        while not all(node in self._peers and self._peers[node].known for node in nodes):
            await self._changed.wait()

    @property
    def nodes(self) -> list[Peer]:
        """Those that live."""
        return list(self._peers.values())

    def received(self, body: dict[str, Any]) -> None:
        """Take a message of ``State``. Raises LookupError, TypeError or ValueError for another."""
        node = str(body["node"])
        if node == self._node or not self._is_one_of_us(node, body):
            return
        if body.get("bye"):
            self.gone(node, "it has ended", level=logging.INFO)
            return
        number = int(body["number"])
        changes = [(str(name), str(key), int(count)) for name, key, count in body.get("rows", ())]
        peer = self._peers.get(node)
        if peer is None:
            peer = self._peers[node] = Peer(node, awake())
            _log.info("node joined", extra={"node": node})
        follows = number == peer.number + 1
        peer.number = number
        peer.heard = awake()
        if whole := body.get("whole"):
            self._take_page(peer, int(whole[0]), int(whole[1]), changes, follows=follows)
        elif peer.known and follows:
            self.table.change(node, changes)
        else:
            self._ask_for(peer)
        peer.about = {
            key: value for key, value in body.items() if key not in {"rows", "charges", "whole"}
        }
        for name, key, amount in body.get("charges", ()):
            self._charged(str(name), str(key), int(amount))

    def gone(self, node: str, why: str, *, level: int = logging.WARNING) -> None:
        """A node is no more, as the bus says, or it itself."""
        if self._peers.pop(node, None) is not None:
            devices = self.table.drop(node)
            _log.log(level, "node gone", extra={"node": node, "devices": devices, "reason": why})

    async def watch(self) -> None:
        """Drop the nodes that are silent, until it is cancelled."""
        last = awake()
        while True:
            await asyncio.sleep(1)
            time = awake()
            if time - last > SILENT_S / 2:  # this process stalled, and received nothing itself
                self.unheard()
            last = time
            for peer in self.nodes:
                if time - peer.heard > SILENT_S:
                    self.gone(peer.node, "it gives no sign of life")

    def unheard(self) -> None:
        """Reset the silence timers after an outage of the bus."""
        for peer in self._peers.values():
            peer.heard = awake()

    def _take_page(
        self, peer: Peer, index: int, count: int, changes: list[Change], *, follows: bool
    ) -> None:
        if index == 0:
            peer.pages.clear()
        elif not follows or index != peer.page:  # one is missing
            self._ask_for(peer)
            return
        peer.pages.extend(changes)
        peer.page = index + 1
        if peer.page == count:
            self.table.replace(peer.node, peer.pages)
            peer.pages.clear()
            peer.known = True
            self._changed.wake()

    def _ask_for(self, peer: Peer) -> None:
        peer.known = False
        peer.page = -1
        peer.pages.clear()
        if awake() - peer.asked >= ASK_AGAIN_S:
            peer.asked = awake()
            self._ask(peer.node)

    def _is_one_of_us(self, node: str, body: dict[str, Any]) -> bool:
        refused = why = ""
        if body.get("protocol") != PROTOCOL:
            refused = "protocol"
            why = f"it speaks version {body.get('protocol')} of the protocol, this one {PROTOCOL}"
        elif not hmac.compare_digest(str(body.get("proof")), proof_of(self._secret, node)):
            refused = "secret"
            why = "it has another secret (cluster.secret)"
        if refused:
            self._counters.add(f"cluster.messages.{refused}")
        if why and node not in self._strangers and len(self._strangers) < 100:
            self._strangers.add(node)
            _log.error("node ignored", extra={"node": node, "reason": why})
        return not why

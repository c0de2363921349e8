"""Which devices are connected to which node, and how each node is."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Final

from vixio.bus.errors import BrokerError
from vixio.cluster.nats.claims import Claims
from vixio.cluster.nats.leases import NatsLeases
from vixio.cluster.nats.link import Link
from vixio.cluster.nats.names import STATUS
from vixio.cluster.nats.peers import Peers
from vixio.core.cluster import HEALTH, Presence, Status

STATUS_S: Final = 1.0
"""A node that does not report its status in so many seconds is left out."""


class NatsPresence(Presence):
    """Devices of other nodes are known from what those repeat; their status is asked for.

    ``name``: that of the node in all its lives, for what counts over time.
    """

    def __init__(
        self,
        name: str,
        node: str,
        link: Link,
        leases: NatsLeases,
        claims: Claims,
        peers: Peers,
    ) -> None:
        self._name = name
        self._node = node
        self._link = link
        self._leases = leases
        self._claims = claims
        self._peers = peers
        self._status: dict[str, Callable[[], Status]] = {}
        link.answer(STATUS, self._answer)

    def where(self, device_id: str) -> str:
        """Return the name of the node that serves a device."""
        if self._leases.current(device_id) is not None:
            return self._node
        return self._peers.table.where(device_id)

    def elsewhere(self, device_id: str) -> bool:
        """Whether another node serves the device."""
        return bool(self._peers.table.where(device_id))

    async def look_elsewhere(self, device_id: str) -> bool:
        """Read the last claim, since what the others repeat comes some milliseconds later."""
        if self.elsewhere(device_id):
            return True
        if self._leases.current(device_id) is not None or not self._link.connected:
            return False
        try:
            claim = await self._claims.last(device_id)
        except BrokerError:
            return False
        return claim is not None and claim.node in {peer.node for peer in self._peers.nodes}

    def publish(self, status: Callable[[], Status], *, topic: str = HEALTH) -> None:
        """Set what this node reports about itself."""
        self._status[topic] = status

    async def members(self, topic: str = HEALTH) -> Sequence[Status]:
        """Return the status of all nodes that answer."""
        found = [self._own(topic)]
        others = len(self._peers.nodes)
        if self._link.connected and others:
            body = {"node": self._node, "topic": topic}
            answers = await self._link.gather(STATUS, body, STATUS_S, others + 1)
            found += [
                status
                for answer in answers
                if isinstance(status := answer.get("status"), dict)
                and answer.get("node") != self._node
            ]
        return found

    def _own(self, topic: str) -> Status:
        report = self._status.get(topic, dict)
        return {**report(), "worker": self._name, "pid": os.getpid()}

    async def _answer(self, body: dict[str, Any]) -> dict[str, Any]:
        own = body["node"] == self._node
        return {"node": self._node, "status": None if own else self._own(str(body["topic"]))}

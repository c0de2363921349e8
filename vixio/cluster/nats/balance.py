"""Which node a device should connect to, where OTA balances instead of a proxy."""

from __future__ import annotations

from collections import Counter

from vixio.cluster.nats.peers import Peers
from vixio.cluster.nats.state import State
from vixio.core.cluster import DEVICES, DRAINING

URL = "websocket_url"
"""Key of what nodes say of themselves with each sign of life."""


class Balance:
    """Names the node with the fewest devices, among those that say where devices reach them.

    What was named since a node's last sign of life counts as devices of it: many may ask at once.
    """

    def __init__(self, url: str, state: State, peers: Peers) -> None:
        self._url = url
        self._state = state
        self._peers = peers
        self._named: Counter[tuple[str, int]] = Counter()

    def least_loaded(self) -> str:
        """Return the URL of the WebSocket of that node; empty: none says where it is."""
        table = self._peers.table
        places = [(self._state.count(DEVICES), "", self._state.number, self._url)]
        places += [
            (table.of(peer.node, DEVICES), peer.node, peer.number, str(peer.about.get(URL) or ""))
            for peer in self._peers.nodes
            if not table.of(peer.node, DRAINING)
        ]
        if self._state.count(DRAINING):
            del places[0]
        alive = {(node, number) for _, node, number, _ in places}
        for key in self._named.keys() - alive:
            del self._named[key]
        usable = [
            (devices + self._named[node, number], node, number, url)
            for devices, node, number, url in places
            if url
        ]
        if not usable:
            return ""
        _, node, number, url = min(usable)
        self._named[node, number] += 1
        return url

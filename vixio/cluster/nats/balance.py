"""Which node a device should connect to, where OTA balances instead of a proxy."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from vixio.cluster.nats.peers import Peers
from vixio.cluster.nats.state import State
from vixio.core.clock import awake
from vixio.core.cluster import DEVICES, DRAINING

URL: Final = "websocket_url"
"""Key of what nodes say of themselves with each sign of life."""

ARRIVAL_S: Final = 5.0
"""A device that was sent to a node connects within so many seconds, or not at all."""


@dataclass(slots=True)
class _Sent:
    """What was sent to a node in the last seconds, and how many devices it had before."""

    before: int
    times: deque[float] = field(default_factory=deque)

    def expected(self, devices: int, time: float) -> int:
        """Return how many devices the node has or will have, of ``devices`` now."""
        while self.times and time - self.times[0] > ARRIVAL_S:
            self.times.popleft()
        if not self.times:
            self.before = devices
        return max(devices, self.before + len(self.times))


class Balance:
    """Names the node with the fewest devices, among those that say where devices reach them.

    Devices that were just sent somewhere count there already: many may ask at once.
    """

    def __init__(self, url: str, state: State, peers: Peers) -> None:
        self._url = url
        self._state = state
        self._peers = peers
        self._sent: dict[str, _Sent] = {}

    def least_loaded(self) -> str:
        """Return the URL of the WebSocket of that node; empty: none says where it is."""
        table, time = self._peers.table, awake()
        devices: dict[str, int] = {}
        if self._url and not self._state.count(DRAINING):
            devices[self._url] = self._state.count(DEVICES)
        for peer in self._peers.nodes:
            url = str(peer.about.get(URL) or "")
            if url and not table.of(peer.node, DRAINING):
                devices[url] = table.of(peer.node, DEVICES)
        for url in self._sent.keys() - devices.keys():
            del self._sent[url]
        if not devices:
            return ""
        expected = {
            url: self._sent.setdefault(url, _Sent(count)).expected(count, time)
            for url, count in devices.items()
        }
        chosen = min(expected, key=lambda url: (expected[url], url))
        self._sent[chosen].times.append(time)
        return chosen

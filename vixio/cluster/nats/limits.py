"""Counts and rates of all nodes together."""

from __future__ import annotations

from vixio.cluster.nats.rows import Table
from vixio.cluster.nats.state import State
from vixio.core.cluster import Charged, SharedLimits


class NatsLimits(SharedLimits):
    """What the other nodes have repeated."""

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

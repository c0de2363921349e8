"""What the other worker processes count, as the coordinator reports it."""

from __future__ import annotations

from vixio.cluster.workers.channel import Channel
from vixio.cluster.workers.messages import Kind
from vixio.core.cluster import Charged, SharedLimits


class WorkerLimits(SharedLimits):
    """Publishes only what has changed."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._own: dict[tuple[str, str], int] = {}
        self._others: dict[tuple[str, str], int] = {}
        self._listeners: dict[str, Charged] = {}

    def set(self, name: str, key: str, count: int) -> None:
        """Publish how many of ``key`` this process has."""
        if self._own.get((name, key), 0) == count:
            return
        if count:
            self._own[name, key] = count
        else:
            del self._own[name, key]
        self._channel.send(Kind.GAUGE, name=name, key=key, count=count)

    def others(self, name: str, key: str = "") -> int:
        """Return how many of ``key`` the other processes have together."""
        return self._others.get((name, key), 0)

    def charge(self, name: str, key: str, amount: int = 1) -> None:
        """Publish what a rate limit of all processes counts."""
        self._channel.send(Kind.CHARGE, name=name, key=key, amount=amount)

    def on_charge(self, name: str, charged: Charged) -> None:
        """Have ``charged`` called with what other processes charge."""
        self._listeners[name] = charged

    # ── the channel's side ───────────────────────────────────────────────────────────────────

    def counted(self, name: str, key: str, count: int) -> None:
        """Note how many the others have."""
        if count:
            self._others[name, key] = count
        else:
            self._others.pop((name, key), None)

    def charged(self, name: str, key: str, amount: int) -> None:
        """Pass on what another process has charged."""
        if listener := self._listeners.get(name):
            listener(key, amount)

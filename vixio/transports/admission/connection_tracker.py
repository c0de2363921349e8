"""Counts connections by address and applies the limits of an address. Touches no socket.

The address of a trusted proxy is not a client's: until the proxy names the client, no limit of an
address applies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from vixio.core.cluster import Cluster
from vixio.core.local_cluster import LocalCluster
from vixio.transports.admission.addresses import Address, Proxies, address_key, parse_address
from vixio.transports.admission.limits import KeyedBuckets, Limits
from vixio.transports.admission.refusal import Refusal, too_many

FLOOD_COSTS_CONNECTS = 32
"""Connects that a connection closed for flooding costs its address: after a few of them the address
is refused."""


@dataclass(slots=True, eq=False)
class TrackedConnection:
    """One connection. ``key``: what it is counted under; empty while its client is unknown."""

    peer: Address | None
    key: str = ""
    address: str = ""
    """For the log and the session: the client's, not its proxy's."""
    refusal: Refusal | None = field(default=None)
    left: bool = False


class ConnectionTracker:
    """The connections of one port. ``clock`` is monotonic, in seconds.

    ``cluster``: the processes that serve this port too; the limits hold for all together.
    """

    def __init__(
        self,
        limits: Limits,
        proxies: Proxies,
        clock: Callable[[], float],
        *,
        what: str = "",
        cluster: Cluster | None = None,
    ) -> None:
        self._limits = limits
        self._proxies = proxies
        self._clock = clock
        self._what = what
        self._connects = KeyedBuckets(limits.connects_per_address)
        self._devices = KeyedBuckets(limits.connects_per_device)
        self._open: Counter[str] = Counter()
        self._all = 0
        self._cluster = cluster or LocalCluster()
        self._cluster.limits.on_charge(f"{what}connects", self._connected_elsewhere)
        self._cluster.limits.on_charge(f"{what}device_connects", self._device_elsewhere)

    @property
    def addresses(self) -> int:
        """How many addresses have a connection."""
        return len(self._open)

    def arrive(self, peer: str) -> TrackedConnection:
        """Count a new connection; its ``refusal`` is set if it exceeds a limit."""
        self._tell_all(1)
        address = parse_address(peer)
        tracked = TrackedConnection(address, address=peer)
        if address is not None and not self._proxies.trusts(address):
            self._count(tracked, address)
        return tracked

    def announce(self, tracked: TrackedConnection, forwarded: Iterable[str]) -> None:
        """Count the connection under the client that its proxy names (X-Forwarded-For)."""
        if tracked.key or tracked.left or not self._proxies.trusts(tracked.peer):
            return
        client = self._proxies.client(tracked.peer, forwarded)
        if client is not None:
            tracked.address = str(client)
            self._count(tracked, client)

    def leave(self, tracked: TrackedConnection) -> None:
        """The connection is over. Idempotent."""
        if tracked.left:
            return
        tracked.left = True
        self._tell_all(-1)
        if tracked.key:
            self._open[tracked.key] -= 1
            if self._open[tracked.key] <= 0:
                del self._open[tracked.key]
            self._tell(tracked.key)

    def device(self, tracked: TrackedConnection, device_id: str) -> Refusal | None:
        """Charge one connect of a device; return a refusal if there were too many.

        Counted by device and address, so that no other address can use up a device's connects.
        """
        key = f"{tracked.key}|{device_id}"
        wait = self._devices.take(key, self._clock())
        if not wait:
            self._cluster.limits.charge(f"{self._what}device_connects", key)
            return None
        return too_many(
            "device_connects",
            f"This device connects more than {self._limits.connects_per_device} times a minute.\n",
            wait,
        )

    def penalise(self, tracked: TrackedConnection) -> None:
        """Charge the address of a connection that was closed for flooding."""
        if tracked.key:
            self._connects.charge(tracked.key, FLOOD_COSTS_CONNECTS, self._clock())
            self._cluster.limits.charge(f"{self._what}connects", tracked.key, FLOOD_COSTS_CONNECTS)

    def _connected_elsewhere(self, key: str, number: int) -> None:
        self._connects.charge(key, number, self._clock())

    def _device_elsewhere(self, key: str, number: int) -> None:
        self._devices.charge(key, number, self._clock())

    def _tell_all(self, change: int) -> None:
        self._all += change
        self._cluster.limits.set(f"{self._what}open", "", self._all)

    def _tell(self, key: str) -> None:
        self._cluster.limits.set(f"{self._what}addresses", key, self._open.get(key, 0))

    def _count(self, tracked: TrackedConnection, address: Address) -> None:
        limits = self._limits
        tracked.key = key = address_key(address)
        self._open[key] += 1
        self._tell(key)
        wait = self._connects.take(key, self._clock())
        elsewhere = self._cluster.limits.others(f"{self._what}addresses", key)
        if not wait:
            self._cluster.limits.charge(f"{self._what}connects", key)
        if wait:
            tracked.refusal = too_many(
                "connects",
                f"More than {limits.connects_per_address} connects a minute from your address.\n",
                wait,
            )
        elif 0 < limits.connections_per_address < self._open[key] + elsewhere:
            tracked.refusal = too_many(
                "connections",
                f"All {limits.connections_per_address} connections of your address are in use.\n",
                5.0,
            )

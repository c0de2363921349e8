"""The cluster of a single process: there are no peers, and a lease never expires."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence

from vixio.core.cluster import (
    COMMAND_S,
    HEALTH,
    NOT_CONNECTED,
    RELEASE_S,
    Broadcast,
    Charged,
    Cluster,
    CommandHandler,
    Commands,
    Lease,
    LeaseLost,
    Leases,
    LossReason,
    OnBroadcast,
    OnLost,
    Presence,
    SharedLimits,
    Status,
    carry_out,
)
from vixio.core.commands import Command, CommandResult, encode
from vixio.core.tools.types import JsonObject

NAME = "1"
"""Name of the only process."""


class LocalLeases(Leases):
    """One lease per device. Its conversation stays in the process, so nothing is handed over."""

    def __init__(self, release_timeout: float = RELEASE_S) -> None:
        self._release_timeout = release_timeout
        self._held: dict[str, LocalLease] = {}
        self._tokens = itertools.count(1)
        self._ending: dict[str, asyncio.Task[None]] = {}

    async def acquire(self, device_id: str, on_lost: OnLost) -> Lease:
        """Take the device over from its older connection."""
        older = self._held.get(device_id)
        lease = LocalLease(device_id, next(self._tokens), on_lost)
        lease.bind(self._forget)
        self._held[device_id] = lease
        if older is not None and older.granted:
            self._ending[device_id] = older.lose(LossReason.TAKEN)
        try:
            await self.settled(device_id)
        except asyncio.CancelledError:
            self._forget(lease)
            raise
        if self._held.get(device_id) is not lease:
            raise LeaseLost(f"{device_id} has connected again")
        lease.granted = True
        return lease

    def holds(self, device_id: str) -> bool:
        """Whether the device has a session."""
        lease = self._held.get(device_id)
        return lease is not None and lease.granted

    async def settled(self, device_id: str) -> None:
        """Wait until the session of the last holder is over, for a bounded time."""
        ending = self._ending.get(device_id)
        if ending is None:
            return
        await asyncio.wait({ending}, timeout=self._release_timeout)
        if self._ending.get(device_id) is ending:
            del self._ending[device_id]

    def _forget(self, lease: LocalLease) -> None:
        if self._held.get(lease.device_id) is lease:
            del self._held[lease.device_id]


class LocalLease(Lease):
    """A lease of this process. ``granted``: its acquisition is over."""

    granted = False

    def bind(self, forget: Callable[[LocalLease], None]) -> None:
        """Set what is called when it is given back."""
        self._forget = forget

    async def release(self) -> None:
        """Give the lease back. Idempotent."""
        await super().release()
        self._forget(self)


class LocalPresence(Presence):
    """Presence of devices in a single process."""

    def __init__(self, leases: LocalLeases) -> None:
        self._leases = leases
        self._status: dict[str, Callable[[], Status]] = {}

    def where(self, device_id: str) -> str:
        """Return :data:`NAME` for a connected device."""
        return NAME if self._leases.holds(device_id) else ""

    def elsewhere(self, device_id: str) -> bool:
        """There is no other process."""
        return False

    async def look_elsewhere(self, device_id: str) -> bool:
        """There is no other process."""
        return False

    def publish(self, status: Callable[[], Status], *, topic: str = HEALTH) -> None:
        """Set what this process reports about itself."""
        self._status[topic] = status

    async def members(self, topic: str = HEALTH) -> Sequence[Status]:
        """Return the status of this process."""
        return [self._status.get(topic, dict)()]


class LocalLimits(SharedLimits):
    """Limits of a single process: nothing is shared."""

    def set(self, name: str, key: str, count: int) -> None:
        """Has no effect."""

    def others(self, name: str, key: str = "") -> int:
        """Return 0."""
        return 0

    def charge(self, name: str, key: str, amount: int = 1) -> None:
        """Has no effect."""

    def on_charge(self, name: str, charged: Charged) -> None:
        """Nothing is ever charged elsewhere."""


class LocalCommands(Commands):
    """Calls the handler."""

    def __init__(self, leases: LocalLeases) -> None:
        self._leases = leases
        self._handler: CommandHandler | None = None

    def serve(self, handler: CommandHandler) -> None:
        """Set what carries out commands."""
        self._handler = handler

    async def send(
        self, device_id: str, command: Command, *, timeout: float = COMMAND_S
    ) -> CommandResult:
        """Have a command carried out."""
        encode(command)  # what another process could not be sent fails here too
        await self._leases.settled(device_id)
        if not self._leases.holds(device_id):
            return NOT_CONNECTED
        return await carry_out(self._handler, device_id, command, timeout)


class LocalBroadcast(Broadcast):
    """There is nobody to send to."""

    def send(self, topic: str, body: JsonObject) -> None:
        """Has no effect."""

    def on_message(self, topic: str, receive: OnBroadcast) -> None:
        """Nothing is ever received."""


class LocalCluster(Cluster):
    """The default of a server.

    ``release_timeout``: seconds that a device's last holder has to end its session.
    """

    def __init__(self, release_timeout: float = RELEASE_S) -> None:
        leases = LocalLeases(release_timeout)
        super().__init__(
            leases,
            LocalPresence(leases),
            LocalLimits(),
            LocalCommands(leases),
            LocalBroadcast(),
            shared=False,
        )

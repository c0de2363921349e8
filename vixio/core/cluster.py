"""What holds for all processes that serve the same devices.

A :class:`Cluster` has five parts: leases (which process serves a device), presence (which devices
are connected where), shared limits (counts and rates of all processes together), commands to the
process that serves a device, and a broadcast to all processes.
:class:`vixio.core.local_cluster.LocalCluster` is the default for a single process;
``vixio.cluster.workers`` joins the processes of one machine.

Every implementation passes ``tests/contract/test_cluster_contract.py``. Values of other processes
may lag by some 50 ms.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import Any, Final, Protocol

from vixio.core.commands import Command, CommandResult, CommandStatus
from vixio.core.errors import VixioError, describe
from vixio.core.metrics import Counters
from vixio.core.tools.types import JsonObject

_log = logging.getLogger(__name__)

RELEASE_S: Final = 2.0
"""Longest wait of a new holder for the old one to end its session: the device waits meanwhile."""

COMMAND_S: Final = 10.0
"""Default bound of a command: most are accepted within milliseconds."""

NOT_CONNECTED: Final = CommandResult(CommandStatus.NOT_CONNECTED)

Status = dict[str, Any]
"""What one process reports about itself; a dict of JSON values."""

HEALTH: Final = "health"
"""The topic of what the health page shows."""


DEVICES: Final = "sockets"
"""The shared count of connected devices."""

DRAINING: Final = "draining"
"""The shared count of processes that take no more devices, since they are about to stop."""


class LossReason(StrEnum):
    """Why a lease was lost."""

    TAKEN = "taken"
    """The device has connected again, to this or another process."""
    EXPIRED = "expired"
    """The process did not renew its leases in time: it was unresponsive."""


OnLost = Callable[[LossReason], Awaitable[None]]
"""Ends the session of a lost lease, and returns when it is over. Called once at most."""


class ClusterUnavailable(VixioError):
    """The other processes cannot be reached, so nothing can be granted. A retry can help."""


class LeaseLost(VixioError):
    """The device connected again while its lease was being acquired: the newer one goes on."""


class Lease:
    """The right to serve one device; at most one in the cluster is valid.

    ``token`` is the fencing token: each lease of a device has a greater one than those before.
    What acts for a device later (a command, a handover) carries the token, and is refused where a
    greater one was granted. ``handover`` is the conversation that the last holder left
    (``vixio.core.handover``), empty if it was this process or there is none.
    """

    def __init__(self, device_id: str, token: int, on_lost: OnLost, handover: str = "") -> None:
        self.device_id = device_id
        self.token = token
        self.handover = handover
        self._on_lost = on_lost
        self._losing: asyncio.Task[None] | None = None
        self._released = False

    @property
    def valid(self) -> bool:
        """Whether this process may act for the device."""
        return not (self.lost or self._released)

    @property
    def lost(self) -> bool:
        """Whether another holder has come, or it has expired."""
        return self._losing is not None

    async def confirmed(self) -> bool:
        """Return whether this process may act, waiting while that is looked up."""
        return self.valid

    def share_handover(self, dump: Callable[[], str]) -> None:
        """Publish the conversation for the next holder; ``dump`` is called a moment later."""

    async def release(self) -> None:
        """Give the lease back. Idempotent; a lease that was lost is left alone."""
        self._released = True

    # ── the implementation's side ────────────────────────────────────────────────────────────

    def lose(self, reason: LossReason) -> asyncio.Task[None]:
        """Make the lease invalid and call ``on_lost``; return the task that runs it."""
        if self._losing is None:
            self._losing = asyncio.get_running_loop().create_task(self._call_on_lost(reason))
        return self._losing

    async def _call_on_lost(self, reason: LossReason) -> None:
        if self._released:
            return
        try:
            await self._on_lost(reason)
        except Exception as error:  # noqa: BLE001 - the new holder must not fail with the old one
            _log.error(
                "session failed to end after losing its lease",
                extra={"device": self.device_id, "error": describe(error)},
            )


class Leases(ABC):
    """Which process serves a device."""

    @abstractmethod
    async def acquire(self, device_id: str, on_lost: OnLost) -> Lease:
        """Take the device over. ``on_lost`` is called if another connection of it takes over later.

        Waits until the last holder's session is over, :data:`RELEASE_S` at most. Raises LeaseLost,
        ClusterUnavailable.
        """


class Presence(ABC):
    """Which devices are connected where, and how each process is."""

    @abstractmethod
    def where(self, device_id: str) -> str:
        """Return the name of the process that serves a device; empty: it is not connected."""

    @abstractmethod
    def elsewhere(self, device_id: str) -> bool:
        """Whether another process serves the device."""

    @abstractmethod
    async def look_elsewhere(self, device_id: str) -> bool:
        """Do as :meth:`elsewhere`, but ask if need be: what has just changed is known. Bounded."""

    @abstractmethod
    def publish(self, status: Callable[[], Status], *, topic: str = HEALTH) -> None:
        """Set what this process reports about itself; called whenever a process asks."""

    @abstractmethod
    async def members(self, topic: str = HEALTH) -> Sequence[Status]:
        """Return the status of every process that answers, this one included. Bounded."""


Charged = Callable[[str, int], None]
"""Receives a key and how much another process has charged to it."""


class SharedLimits(ABC):
    """Counts and rates that hold for all processes together. All of it returns at once."""

    @abstractmethod
    def set(self, name: str, key: str, count: int) -> None:
        """Publish how many of ``key`` this process has; 0: none any more."""

    @abstractmethod
    def others(self, name: str, key: str = "") -> int:
        """Return how many of ``key`` the other processes have together."""

    @abstractmethod
    def charge(self, name: str, key: str, amount: int = 1) -> None:
        """Publish what a rate limit of all processes counts."""

    @abstractmethod
    def on_charge(self, name: str, charged: Charged) -> None:
        """Have ``charged`` called with what other processes charge; one listener per name."""


class CommandHandler(Protocol):
    """Carries commands out in the process that serves the device."""

    async def __call__(self, device_id: str, command: Command) -> CommandResult:
        """Return the result. A VixioError or ValueError becomes a failed one."""
        ...


class Commands(ABC):
    """Commands to the session of a device, in whichever process it is."""

    @abstractmethod
    def serve(self, handler: CommandHandler) -> None:
        """Set what carries out commands to the devices of this process."""

    @abstractmethod
    async def send(
        self, device_id: str, command: Command, *, timeout: float = COMMAND_S
    ) -> CommandResult:
        """Have a command carried out; return its result within ``timeout`` seconds, about.

        A device that is not connected is an immediate answer. The command reaches the current
        holder of the device's lease only. Raises ValueError for a command that is not JSON.
        """


OnBroadcast = Callable[[JsonObject], None]
"""Receives what another process has sent. Must return at once and not raise."""


class Broadcast(ABC):
    """What every process may want to know, and can do without: a message may be lost."""

    @abstractmethod
    def send(self, topic: str, body: JsonObject) -> None:
        """Send to all other processes, in order. Returns at once.

        A process that does not keep up loses messages, whole ones.
        """

    @abstractmethod
    def on_message(self, topic: str, receive: OnBroadcast) -> None:
        """Have ``receive`` called with what other processes send; one listener per topic."""


class Cluster:
    """The five parts. ``shared``: whether there are other processes, now or later."""

    def __init__(
        self,
        leases: Leases,
        presence: Presence,
        limits: SharedLimits,
        commands: Commands,
        broadcast: Broadcast,
        *,
        shared: bool,
        counters: Counters | None = None,
    ) -> None:
        self.leases = leases
        self.presence = presence
        self.limits = limits
        self.commands = commands
        self.broadcast = broadcast
        self.shared = shared
        self.counters = counters or Counters()
        """What the cluster counts; those of the server that takes part in it."""
        self.reached_at = "127.0.0.1"
        """Address at which the other processes reach this one."""

    async def start(self) -> None:
        """Join the other processes, before devices are accepted. Raises ConfigError."""

    async def close(self) -> None:
        """Leave; no device is served any more. Idempotent."""

    def problem(self) -> str:
        """Return why this process should get no devices; empty: it may."""
        return ""

    def stats(self) -> dict[str, Any]:
        """Return what the health page shows of it."""
        return {}


async def carry_out(
    handler: CommandHandler | None, device_id: str, command: Command, timeout: float
) -> CommandResult:
    """Run a handler; return a result whatever happens. For implementations."""
    if handler is None:
        return NOT_CONNECTED
    try:
        async with asyncio.timeout(timeout):
            result = await handler(device_id, command)
        result.to_json()  # raises ValueError for what could not be sent to another process
        return result
    except TimeoutError:
        return CommandResult(CommandStatus.TIMED_OUT)
    except (VixioError, ValueError) as error:
        return CommandResult(CommandStatus.FAILED, message=str(error))
    except Exception as error:  # noqa: BLE001 - a defect must not end the process's channel
        _log.error(
            "a command failed",
            extra={
                "device": device_id,
                "command": type(command).__name__,
                "error": describe(error),
            },
        )
        return CommandResult(CommandStatus.FAILED, message="internal error")

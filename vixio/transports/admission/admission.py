"""The decision whether a device may connect: one for all carriers and transports of a server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from time import monotonic
from typing import Any

from vixio.core.capacity import Capacity
from vixio.core.cluster import DEVICES, Cluster
from vixio.core.errors import ConfigError
from vixio.core.local_cluster import LocalCluster
from vixio.core.metrics import Counters
from vixio.transports.admission.access import Access, OpenAccess
from vixio.transports.admission.addresses import TRUSTED_PROXIES, Proxies
from vixio.transports.admission.connection_tracker import ConnectionTracker, TrackedConnection
from vixio.transports.admission.firmware import StatedFirmware
from vixio.transports.admission.identity import MAX_ID_CHARS, Identity
from vixio.transports.admission.limits import Limits
from vixio.transports.admission.overload import Overload
from vixio.transports.admission.refusal import Refusal, busy
from vixio.transports.admission.refusal_log import RefusalLog

OVERLOADED = busy("overload", "The server is busy, try again.\n")

FULL = busy("capacity", "The server has as many devices as it can talk with, try again.\n")

STOPPING = busy("stopping", "The server is stopping, try again.\n", retry_after=10.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionSettings:
    """What a device needs to connect. Raises ConfigError if a value is invalid."""

    access: Access = field(default_factory=OpenAccess)
    """Says who may use the server."""
    max_connections: int = 1000
    """Further devices get 503. A device that is connected already may always replace itself."""
    limits: Limits = field(default_factory=Limits)
    trusted_proxies: Sequence[str] = TRUSTED_PROXIES
    """Addresses or networks whose X-Forwarded-For is believed."""

    def __post_init__(self) -> None:
        if self.max_connections < 1:
            raise ConfigError("max_connections must be at least 1")


class Admission:
    """Limits, identities and overload.

    ``cluster``: the processes that serve the same ports; the limits hold for all together.
    """

    def __init__(
        self,
        settings: AdmissionSettings | None = None,
        *,
        counters: Counters | None = None,
        cluster: Cluster | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.settings = settings or AdmissionSettings()
        self.limits = self.settings.limits
        self.counters = counters if counters is not None else Counters()
        self.cluster = cluster or LocalCluster()
        self.proxies = Proxies(self.settings.trusted_proxies)
        self.tracker = ConnectionTracker(self.limits, self.proxies, clock, cluster=self.cluster)
        self.firmware = StatedFirmware()
        self._refusals = RefusalLog(clock)
        self._devices: Counter[str] = Counter()  # connections by device
        self._overload = Overload(self.limits.loop_lag_ms / 1000, clock)
        self.capacity = Capacity(self.limits.conversing)
        """How many devices this process can talk with; measured by whoever runs it."""
        self.resting: Callable[[], int] = lambda: 0
        """Returns how many of the admitted connections stand without a conversation."""
        self.stopping = False
        """Whether the process takes no devices any more."""
        self._users = 0
        self._loading = False

    def start(self) -> None:
        """Begin to measure the running loop. Each transport starts it, and stops it once."""
        self._users += 1
        self._overload.start()

    def stop(self) -> None:
        """Stop measuring when the last transport has stopped."""
        self._users -= 1
        if not self._users:
            self._overload.stop()
            self._refusals.flush()

    @property
    def admitted(self) -> int:
        """How many connections of this process are admitted and not over."""
        return self._devices.total()

    @property
    def devices(self) -> int:
        """How many devices have such a connection."""
        return len(self._devices)

    @property
    def loading(self) -> bool:
        """Whether the server loads models. The loop's lag refuses no device meanwhile."""
        return self._loading

    @loading.setter
    def loading(self, value: bool) -> None:
        self._loading = value
        self._overload.forget()

    @property
    def overloaded(self) -> bool:
        """Whether the process has too much to do to take on more devices."""
        return self._overload.active and not self._loading

    @property
    def conversing(self) -> int:
        """How many connections of this process have a conversation, or may begin one any time."""
        return self.admitted - self.resting()

    def check(
        self, identity: Identity, tracked: TrackedConnection, *, standing: bool = False
    ) -> Refusal | None:
        """Return why the device may not connect; cheapest checks first. Never raises.

        ``standing``: it connects without a conversation, for which :meth:`check_conversation` is.
        """
        refusal = (
            self._check_room(identity, tracked)
            or self._check_identity(identity)
            # Behind the token: no other client can use up what a device with a token may do.
            or self._check_quota(identity, tracked, standing=standing)
        )
        if refusal is not None:
            self.counters.add(refusal.counter("admission"))
        return refusal

    def check_conversation(self) -> Refusal | None:
        """Return why a device that is connected may not begin a conversation now."""
        capacity = self.capacity.devices
        refusal = STOPPING if self.stopping else OVERLOADED if self.overloaded else None
        if refusal is None and capacity is not None and self.conversing >= capacity:
            refusal = FULL
        if refusal is not None:
            self.counters.add(refusal.counter("admission"))
        return refusal

    def refused(self, reason: str, address: str = "", device_id: str = "") -> None:
        """Log that a client is refused, on whichever port. Bounded: the lines of a flood are
        counted instead."""
        self._refusals.add(reason, address, device_id)

    def is_connected(self, device_id: str) -> bool:
        """Whether the device is connected to this server, in whichever process."""
        return self._devices[device_id] > 0 or self.cluster.presence.elsewhere(device_id)

    def admit(self, device_id: str) -> None:
        """Count an admitted connection of a device, until :meth:`depart`."""
        self._devices[device_id] += 1
        self._publish()

    def depart(self, device_id: str) -> None:
        """An admitted connection of a device is over."""
        self._devices[device_id] -= 1
        if not self._devices[device_id]:
            del self._devices[device_id]
        self._publish()

    def stats(self) -> dict[str, Any]:
        """Return gauges for health pages."""
        capacity = self.capacity.devices
        return {
            **({"capacity": capacity} if capacity is not None else {}),
            "max_connections": self.settings.max_connections,
            "addresses": self.tracker.addresses,
            "overloaded": self.overloaded,
            "loop_lag_ms": round(self._overload.lag * 1000, 1),
        }

    def _publish(self) -> None:
        self.cluster.limits.set(DEVICES, "", self.admitted)

    def _check_room(self, identity: Identity, tracked: TrackedConnection) -> Refusal | None:
        if self.stopping:
            return STOPPING
        if tracked.refusal is not None and not (
            # A device that comes back takes the place of its older connection.
            tracked.refusal.reason == "connections" and self.is_connected(identity.device_id)
        ):
            return tracked.refusal
        if self.overloaded:
            return OVERLOADED
        return None

    def _check_identity(self, identity: Identity) -> Refusal | None:
        if not identity.device_id:
            # An invented id would create memories of a device that never comes back.
            return Refusal(
                HTTPStatus.BAD_REQUEST,
                "no_device_id",
                "Send a Device-Id header or ?device-id=… in the URL.\n",
            )
        if not identity.well_formed:
            return Refusal(
                HTTPStatus.BAD_REQUEST,
                "bad_device_id",
                f"Device-Id and Client-Id have at most {MAX_ID_CHARS} printable characters.\n",
            )
        return self.settings.access.check(identity)

    def _check_quota(
        self, identity: Identity, tracked: TrackedConnection, *, standing: bool
    ) -> Refusal | None:
        allowed = self.settings.max_connections
        connected = self.admitted + self.cluster.limits.others(DEVICES)
        capacity = self.capacity.devices
        if not self.is_connected(identity.device_id):  # that one takes its own place
            if connected >= allowed:
                message = f"All {allowed} connections are in use.\n"
                return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "full", message)
            if not standing and capacity is not None and self.conversing >= capacity:
                return FULL
        refusal = self.tracker.device(tracked, identity.device_id)
        if refusal is None and not self._loading and not self._overload.admit():
            return OVERLOADED
        return refusal

"""The connected devices of all transports. A device has one connection: a newer one replaces it."""

from __future__ import annotations

from typing import Protocol

from vixio.core.cluster import Cluster
from vixio.core.device import Device


class Connection(Protocol):
    """What the registry needs of a connection, whatever carries it."""

    @property
    def session_id(self) -> str:
        """Unique among all connections."""

    @property
    def device(self) -> Device:
        """The device at the other end."""

    def replace(self) -> None:
        """Close: a newer connection of the same device takes over. Returns at once."""


class DeviceRegistry:
    """Finds connections by session and by device.

    ``cluster`` knows which devices are connected to other processes.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._sessions: dict[str, Connection] = {}
        self._devices: dict[str, Connection] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def enter(self, connection: Connection) -> None:
        """Register a connection. An older one of the same device is replaced."""
        self._sessions[connection.session_id] = connection
        older = self._devices.get(connection.device.id)
        self._devices[connection.device.id] = connection
        if older is not None:
            older.replace()

    def leave(self, connection: Connection) -> None:
        """Forget a connection whose session has ended. Idempotent."""
        self._sessions.pop(connection.session_id, None)
        if self._devices.get(connection.device.id) is connection:
            del self._devices[connection.device.id]

    def is_connected(self, device_id: str) -> bool:
        """Whether the device is connected to this server, in whichever process."""
        return device_id in self._devices or self._cluster.presence.elsewhere(device_id)

    def is_live(self, session_id: str, device_id: str) -> bool:
        """Whether the session runs. For a device of another process: whether it is connected."""
        return session_id in self._sessions or self._cluster.presence.elsewhere(device_id)

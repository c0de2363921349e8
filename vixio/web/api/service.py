"""What the routes share: the database, limits, and commands to devices."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from time import monotonic
from typing import Any, Final, TypeVar

from vixio.core.commands import Command, CommandStatus, Custom
from vixio.data.database.database import Database
from vixio.data.devices.firmware.manager import FirmwareManager
from vixio.data.devices.records import DeviceRecord
from vixio.data.devices.repository import DeviceRepository
from vixio.settings.api import ApiSection
from vixio.transports.admission.limits import KeyedBuckets
from vixio.web.api.ports import Ports
from vixio.web.api.problems import Problem

TOKENS: Final = "api_token"
LOGINS: Final = "api_login"
"""The names of the shared rates."""

COMMAND_S: Final = 10.0
SPEECH_S: Final = 300.0
"""For a speech to be played to its end; the user may be speaking before."""
TOOL_S: Final = 60.0

T = TypeVar("T")


class ApiService:
    """One server's, in this process."""

    def __init__(self, settings: ApiSection, ports: Ports) -> None:
        self.ports = ports
        self._requests = KeyedBuckets(settings.requests_per_minute)
        self._logins = KeyedBuckets(settings.logins_per_minute)
        self.hashing = asyncio.Semaphore(1)
        """One at a time: each takes 32 MB and a quarter of a second."""
        self.uploading = asyncio.Semaphore(1)
        self.sampling: set[str] = set()
        """Tokens that wait for a sample of a voice."""
        self.streams: Counter[str] = Counter()
        """Open streams of events, by token."""
        limits = ports.cluster.limits
        for name, buckets in ((TOKENS, self._requests), (LOGINS, self._logins)):
            limits.on_charge(name, partial(_charge, buckets))

    async def use(self, work: Callable[[Database], Awaitable[T]]) -> T:
        """Run ``work`` on the database. Raises RegistryError, RegistryUnavailable."""
        return await self.ports.registry.use(work)

    async def change(self, work: Callable[[Database], Awaitable[T]]) -> T:
        """Run a write on the database, then refresh the cache and the subscribers. Raises as
        :meth:`use`."""
        return await self.ports.registry.change(work)

    async def with_repository(self, work: Callable[[DeviceRepository], Awaitable[T]]) -> T:
        """Change devices, then refresh the cache and the subscribers. Raises as :meth:`use`."""
        return await self.ports.registry.with_repository(work)

    async def read(self, work: Callable[[DeviceRepository], Awaitable[T]]) -> T:
        """Read devices. Raises as :meth:`use`."""
        return await self.use(lambda database: work(DeviceRepository(database)))

    async def device(self, device: str) -> DeviceRecord:
        """Return a device by its id or its name. Raises NotKnown, RegistryUnavailable."""
        return await self.read(lambda repository: repository.device(device))

    async def with_firmware(self, work: Callable[[FirmwareManager], Awaitable[T]]) -> T:
        """Do ``work`` on the firmware. Raises as :meth:`use`."""
        return await self.use(lambda database: work(FirmwareManager(database, self.ports.firmware)))

    async def change_firmware(self, work: Callable[[FirmwareManager], Awaitable[T]]) -> T:
        """Have a change of the firmware made. Raises as :meth:`use`."""
        return await self.change(
            lambda database: work(FirmwareManager(database, self.ports.firmware))
        )

    def online(self, device_id: str) -> bool:
        """Whether a device is connected now, to any process."""
        return bool(self.ports.cluster.presence.where(device_id))

    def take(self, token: str) -> float:
        """Count a request of a token; return 0, or the seconds to wait."""
        return self._take(self._requests, TOKENS, token)

    def take_login(self, address: str) -> float:
        """Count a login that may fail; return 0, or the seconds to wait."""
        return self._take(self._logins, LOGINS, address)

    async def command(self, device: str, command: Command, timeout: float = COMMAND_S) -> Any:  # noqa: ANN401 - JSON
        """Have a command carried out by a connected device; return its value. Raises Problem."""
        known = await self.device(device)
        try:
            result = await self.ports.command(known.id, command, timeout=timeout)
        except ValueError as error:  # too large for another process
            raise Problem(422, str(error)) from None
        match result.status:
            case CommandStatus.DONE:
                return result.value
            case CommandStatus.NOT_CONNECTED:
                raise Problem(
                    409,
                    "the device is not connected: it connects when somebody speaks to it",
                    last_seen=known.last_seen,
                )
            case CommandStatus.TIMED_OUT:
                raise Problem(504, "the device did not answer in time; it may have done it")
        raise Problem(409, f"the device could not do it: {result.message or 'no reason given'}")

    async def custom(self, device: str, name: str, timeout: float, **arguments: Any) -> Any:  # noqa: ANN401 - JSON
        """Have a command of :mod:`~vixio.web.api.device_commands` carried out. Raises Problem."""
        return await self.command(device, Custom(name, arguments), timeout)

    def _take(self, buckets: KeyedBuckets, name: str, key: str) -> float:
        wait = buckets.take(key, monotonic())
        if not wait:
            self.ports.cluster.limits.charge(name, key)
        return math.ceil(wait)


def _charge(buckets: KeyedBuckets, key: str, number: int) -> None:
    buckets.charge(key, number, monotonic())

"""A running registry for tests, and what somebody else does to its database meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from tests.support.registry import device_tokens
from tests.support.registry_databases import Make
from vixio.core.metrics import Counters
from vixio.data.database.database import Database
from vixio.data.database.link import Link
from vixio.data.devices.records import AccessMode
from vixio.data.devices.registry import DeviceRegistry
from vixio.data.devices.repository import DeviceRepository
from vixio.data.devices.tokens import DeviceTokens
from vixio.transports.admission.access import OtaRequest
from vixio.transports.admission.identity import Identity

KITCHEN = "02:00:00:00:00:01"


class Here:
    """A running registry, and a connection of somebody else to its database."""

    def __init__(
        self, registry: DeviceRegistry, repository: DeviceRepository, counters: Counters
    ) -> None:
        self.registry = registry
        self.repository = repository
        self.counters = counters
        self.sent_away: list[tuple[str, str]] = []
        registry.on_unwelcome = lambda device_id, rejection: self.sent_away.append(
            (device_id, rejection.words("en"))
        )

    async def visit(self, device_id: str = KITCHEN, client_id: str = "c") -> str:
        """Have a device ask OTA; return its token, empty if it is not let in."""
        decision = await self.registry.decide(OtaRequest(device_id=device_id, client_id=client_id))
        assert decision.admitted or bool(decision.token) == bool(decision.code)
        return decision.token if decision.admitted else ""

    def refused(self, token: str, device_id: str = KITCHEN, client_id: str = "c") -> str:
        """Return why a device with this token may not connect; empty: it may."""
        refusal = self.registry.check(Identity(device_id, client_id, token))
        return refusal.reason if refusal else ""


def no_mqtt(_carrier: str) -> bool:
    return False


def registry_of(
    make: Make,
    mode: AccessMode,
    counters: Counters,
    tokens: DeviceTokens | None,
    by_mqtt: Callable[[str], bool] = no_mqtt,
) -> DeviceRegistry:
    link: Link[Database] = Link(make, name="test-registry")
    return DeviceRegistry(link, mode, tokens, counters, by_mqtt=by_mqtt)


@asynccontextmanager
async def running(
    make: Make,
    mode: AccessMode = AccessMode.ACTIVATION,
    tokens: DeviceTokens | None = None,
    by_mqtt: Callable[[str], bool] = no_mqtt,
) -> AsyncIterator[Here]:
    """Run a registry, which looks for changes of others more often than one in use."""
    counters = Counters()
    registry = registry_of(make, mode, counters, tokens or device_tokens(), by_mqtt)
    database = make()
    await database.open()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vixio.data.devices.registry.POLL_S", 0.02)
        registry.start()
        try:
            yield Here(registry, DeviceRepository(database), counters)
        finally:
            await registry.stop()
            await database.close()


async def claimed(here: Here, device_id: str = KITCHEN) -> str:
    """Have a device let in; return its token."""
    assert await here.visit(device_id) == ""
    await here.registry.with_repository(lambda repository: repository.add(device_id, "me"))
    return await here.visit(device_id)

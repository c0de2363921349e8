"""A registry in memory, as the server has one."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from vixio.core.metrics import Counters
from vixio.data.database.database import Database
from vixio.data.database.link import Link
from vixio.data.database.sqlite import SQLiteDatabase
from vixio.data.devices.records import AccessMode
from vixio.data.devices.registry import DeviceRegistry
from vixio.data.devices.tokens import DeviceTokens
from vixio.web.api.first_login import Use

T = TypeVar("T")

SECRET = "a secret of enough bytes"


def device_tokens(
    lifetime_s: float = 86_400.0, clock: Callable[[], float] = time.time
) -> DeviceTokens:
    """Return what issues and checks tokens with the secret of the tests."""
    return DeviceTokens(SECRET, lifetime_s, clock=clock)


def memory_registry(
    mode: AccessMode = AccessMode.OPEN,
    tokens: DeviceTokens | None = None,
    by_mqtt: Callable[[str], bool] = lambda _carrier: False,
) -> DeviceRegistry:
    """Return a registry that ends with the test; not started."""
    link: Link[Database] = Link(lambda: SQLiteDatabase(None), name="test-registry")
    return DeviceRegistry(link, mode, tokens, Counters(), by_mqtt=by_mqtt)


def using(database: Database) -> Use:
    """Return what does its work on an open database, as the registry of a server does."""

    async def use(work: Callable[[Database], Awaitable[T]]) -> T:
        return await work(database)

    return use

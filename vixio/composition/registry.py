"""Makes the registry of a server, and ends the sessions of devices that may no longer be here."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from vixio.core.errors import ConfigError
from vixio.core.messages import message
from vixio.core.metrics import Counters
from vixio.core.session.directory import SessionDirectory
from vixio.data.database.create import check_database, make_database
from vixio.data.database.database import Database
from vixio.data.database.link import Link, Reports
from vixio.data.database.paths import state_folder
from vixio.data.devices.records import AccessMode
from vixio.data.devices.registry import DeviceRegistry, Rejection
from vixio.data.devices.repository import DeviceRepository
from vixio.data.devices.secret import load_secret
from vixio.data.devices.tokens import DeviceTokens
from vixio.data.memory.former import former_file, take_over
from vixio.data.memory.repository import MemoryRepository
from vixio.settings import Settings

DAY_S = 86_400.0

REPORTS = Reports(
    failed="registry unavailable, known devices are served as before",
    works="the registry is available again",
)


def data_folder(settings: Settings) -> Path:
    """Return where the registry and the secrets are."""
    return settings.data.place or state_folder()


def signing_secret(settings: Settings) -> str:
    """Return the secret of the settings, else that of the data folder. Raises ConfigError.

    Nodes of a cluster have a secret in common, and need not have a folder.
    """
    if own := settings.server.auth.secret.get_secret_value():
        return own
    if settings.cluster is not None:
        return settings.cluster.secret.get_secret_value()
    return load_secret(data_folder(settings))


def make_registry(settings: Settings, counters: Counters) -> DeviceRegistry:
    """Return the registry of a server. Raises ConfigError."""
    server = settings.server
    mode = AccessMode(server.access)
    tokens = None
    if server.tokens:
        tokens = DeviceTokens(signing_secret(settings), server.auth.token_lifetime_days * DAY_S)
    return DeviceRegistry(
        registry_link(settings),
        mode,
        tokens,
        counters,
        language=settings.assistant.language,
        by_mqtt=settings.mqtt.takes if settings.mqtt is not None else lambda _carrier: False,
    )


def registry_link(settings: Settings) -> Link[Database]:
    """Return a link to the database of the registry. Raises ConfigError."""
    check_database(settings.data.database.get_secret_value())
    return Link(lambda: _database(settings), name="vixio-registry", reports=REPORTS)


def _database(settings: Settings) -> Database:
    """Return the database, not opened yet; opened, it has what earlier versions remembered."""
    database = make_database(data_folder(settings), settings.data.database.get_secret_value())
    if settings.data.kept and settings.memory.store != "none":
        database.upgrade = partial(take_over, file=former_file(settings.memory.path))
    return database


@asynccontextmanager
async def opened_database(settings: Settings) -> AsyncIterator[Database]:
    """Open the database of the registry for a command.

    Raises DatabaseFailed, and ConfigError for a registry that ends with the server.
    """
    if not settings.data.kept:
        raise ConfigError("data.database is none: the registry ends with the server")
    check_database(settings.data.database.get_secret_value())
    database = _database(settings)
    await database.open()
    try:
        yield database
    finally:
        await database.close()


@asynccontextmanager
async def opened_memory(settings: Settings) -> AsyncIterator[MemoryRepository]:
    """Open the memory of the settings for a command; as :func:`opened_database`."""
    async with opened_database(settings) as database:
        yield MemoryRepository(database)


@asynccontextmanager
async def opened_desk(settings: Settings) -> AsyncIterator[DeviceRepository]:
    """Open the registry of the settings for a command; as :func:`opened_database`."""
    async with opened_database(settings) as database:
        yield DeviceRepository(database)


class Farewells:
    """Sends devices away that may not be here any more: shows why, and closes the connection."""

    def __init__(self, sessions: SessionDirectory) -> None:
        self._sessions = sessions

    def __call__(self, device_id: str, rejection: Rejection) -> None:
        """Send a device away, if it is connected to this process."""
        session = self._sessions.find(device_id)
        if session is not None:
            language = session.profile.language
            notice = (message("error_status", language), rejection.words(language), "sad")
            session.send_away(notice, rejection.words("en"))

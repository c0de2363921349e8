"""Makes the configured store. The packages of a store are imported when it is made."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from vixio.core.errors import ConfigError
from vixio.core.extras import Extra, how_to_install
from vixio.core.imports import sdk_import
from vixio.data.database.link import Link, Reports
from vixio.data.memory.store import MemoryStore

NEEDS: Final[dict[Extra, tuple[str, ...]]] = {
    "sqlalchemy": ("sqlalchemy", "greenlet"),
    "redis": ("redis",),
}
"""The modules of each extra. An extra has the name of its store."""


REPORTS: Final = Reports(
    failed="memory store unavailable, conversations kept in memory",
    works="memory is available again",
)


def store_link(
    make: Callable[[], MemoryStore], *, timeout: float = 6.0, quiet: bool = False
) -> Link[MemoryStore]:
    """Return the link to the store that ``make`` makes; ``quiet``: its failures are not logged."""
    reports = None if quiet else REPORTS
    return Link(make, name="vixio-memory", reports=reports, timeout=timeout)


def check_installed(store: str) -> None:
    """Raise ConfigError if a package that ``store`` needs is not installed. Imports nothing."""
    for extra, modules in NEEDS.items():
        if extra == store and any(find_spec(module) is None for module in modules):
            raise ConfigError(f"memory.store: {store} needs: {how_to_install(extra)}")


def make_store(store: str, path: str, url: str) -> MemoryStore:
    """Return a store, not opened yet. May import for seconds. Raises StoreFailed."""
    if store == "sqlalchemy":
        with sdk_import():
            from vixio.data.memory.sqlalchemy_store import SQLAlchemyStore

        return SQLAlchemyStore(url)
    if store == "redis":
        with sdk_import():
            from vixio.data.memory.redis_store import RedisStore

        return RedisStore(url)
    from vixio.data.memory.sqlite_store import SQLiteStore, default_path

    return SQLiteStore(Path(path).expanduser() if path else default_path())

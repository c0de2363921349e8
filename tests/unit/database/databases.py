"""The databases that the tests run on: an own one for each test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg

from tests.support.databases import postgres_server
from vixio.database.create import make_database
from vixio.database.database import Database

Make = Callable[[], Database]
"""Returns another connection to the same database."""


@contextmanager
def sqlite(folder: Path) -> Iterator[Make]:
    """Give connections to one file."""
    yield lambda: make_database(folder, "")


@contextmanager
def postgres(server: str, name: str) -> Iterator[Make]:
    """Give connections to a new database of a running server."""
    plain = server.replace("+asyncpg", "")

    async def create() -> None:
        connection = await asyncpg.connect(plain)
        await connection.execute(f'CREATE DATABASE "{name}"')
        await connection.close()

    asyncio.run(create())
    url = urlsplit(plain)._replace(path=f"/{name}").geturl()
    yield lambda: make_database(Path(), url)


__all__ = ["Make", "postgres", "postgres_server", "sqlite"]

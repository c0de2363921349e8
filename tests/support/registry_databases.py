"""The databases that tests of the registry run on: an own one for each test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import asyncpg
import pytest

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


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """Run one PostgreSQL server for all tests. A test without one is skipped."""
    with postgres_server() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Give connections to an empty database."""
    if request.param == "sqlite":
        with sqlite(tmp_path) as made:
            yield made
    else:
        with postgres(request.getfixturevalue("postgres_url"), uuid4().hex) as made:
            yield made

"""The databases that tests of the registry run on: an own one for each test."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import asyncpg
import pytest

from tests.support.databases import REQUIRED, postgres_server
from vixio.data.database.create import make_database
from vixio.data.database.database import Database

Make = Callable[[], Database]
"""Returns another connection to the same database."""


def new_postgres(server: str) -> str:
    """Make a database on a running server; return its URL."""
    name = uuid4().hex
    plain = server.replace("+asyncpg", "")

    async def create() -> None:
        connection = await asyncpg.connect(plain)
        await connection.execute(f'CREATE DATABASE "{name}"')
        await connection.close()

    # In a thread, since a loop may run here already.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, create()).result()
    return urlsplit(plain)._replace(path=f"/{name}").geturl()


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """Run one PostgreSQL server for all tests. A test without one is skipped."""
    with postgres_server() as url:
        yield url


def skip_postgres() -> None:
    """Skip a test on PostgreSQL, unless this is the run for databases: `make test` is long."""
    if not os.environ.get(REQUIRED):
        pytest.skip("make test-stores runs it")  # `make test` is kept short


@pytest.fixture(params=["sqlite", "postgresql"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Give connections to an empty database."""
    if request.param == "sqlite":
        yield lambda: make_database(tmp_path, "")
    else:
        skip_postgres()
        url = new_postgres(request.getfixturevalue("postgres_url"))
        yield lambda: make_database(Path(), url)


async def fill(database: Database) -> None:
    """Leave a SQLite file no room, as it has it itself on a full disk."""
    connection = database._connection  # type: ignore[attr-defined]  # of SQLite
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count={pages}").fetchone()


async def empty(database: Database) -> None:
    """Give it room again."""
    database._connection.execute("PRAGMA max_page_count=1000000").fetchone()  # type: ignore[attr-defined]  # of SQLite

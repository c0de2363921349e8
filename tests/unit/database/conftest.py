"""Each test runs on SQLite, and on PostgreSQL where it is installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.unit.database.databases import Make, postgres, postgres_server, sqlite


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """Run one PostgreSQL server for all tests."""
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

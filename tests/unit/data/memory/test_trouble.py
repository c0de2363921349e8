"""What an error of each driver says of a store: that it is out, full, or that a value is wrong."""

from __future__ import annotations

import pytest
import redis
import sqlalchemy.exc as sql

from vixio.data.database.link import Trouble
from vixio.data.memory.create import make_store

pytestmark = pytest.mark.slow  # it imports both drivers and the SDK


class Coded(Exception):
    """An error of a driver, with PostgreSQL's code."""

    def __init__(self, sqlstate: str) -> None:
        self.sqlstate = sqlstate


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (redis.ConnectionError("refused"), Trouble.OUTAGE),
        (redis.TimeoutError("late"), Trouble.OUTAGE),
        (redis.BusyLoadingError("loading"), Trouble.OUTAGE),
        (redis.ReadOnlyError("a replica"), Trouble.OUTAGE),
        (redis.AuthenticationError("no"), Trouble.OUTAGE),
        (
            redis.OutOfMemoryError("OOM command not allowed"),
            Trouble.FULL,
        ),
        (redis.ResponseError("MISCONF Errors writing to the AOF file"), Trouble.FULL),
        (redis.ResponseError("WRONGTYPE Operation against a key"), Trouble.DATA),
        (redis.DataError("a value that is none"), Trouble.DATA),
        (ValueError("not JSON"), Trouble.DATA),
    ],
    ids=str,
)
def test_redis(error: Exception, says: Trouble) -> None:
    assert make_store("redis", "", "redis://127.0.0.1:1/0").trouble(error) is says


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (sql.OperationalError("s", {}, Exception("gone")), Trouble.OUTAGE),
        (sql.InterfaceError("s", {}, Exception("closed")), Trouble.OUTAGE),
        (sql.TimeoutError("no connection is free"), Trouble.OUTAGE),
        (sql.DBAPIError("s", {}, Coded("57P01")), Trouble.OUTAGE),
        (sql.DBAPIError("s", {}, Coded("22021")), Trouble.DATA),
        (sql.DataError("s", {}, Exception("too long")), Trouble.DATA),
        (sql.IntegrityError("s", {}, Exception("twice")), Trouble.DATA),
        (KeyError("a mistake of ours"), Trouble.DATA),
    ],
    ids=lambda value: type(value).__name__,
)
def test_sqlalchemy(error: Exception, says: Trouble) -> None:
    assert make_store("sqlalchemy", "", "sqlite+aiosqlite://").trouble(error) is says

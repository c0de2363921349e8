"""Whom an error of a database concerns: everybody, who writes, or who brought the value."""

from __future__ import annotations

import asyncio
import errno
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from tests.support.registry_databases import Make, empty, fill
from vixio.core.errors import ToolError
from vixio.data.database.create import make_database
from vixio.data.database.database import Database, DatabaseFailed, Value
from vixio.data.database.link import FULL_S, Link, Operation, Rejected, Reports, Unavailable

TABLE = "CREATE TABLE things (name TEXT PRIMARY KEY, number BIGINT NOT NULL)"
INSERT = "INSERT INTO things (name, number) VALUES (:name, :number)"

REPORTS = Reports("it fails", "it works again")


@asynccontextmanager
async def linked(make: Make) -> AsyncIterator[Link[Database]]:
    link: Link[Database] = Link(make, name="test-link", reports=REPORTS)
    await link.call(Operation(created))
    yield link
    await link.close()


async def created(database: Database) -> None:
    async with database.transaction() as transaction:
        await transaction.execute(TABLE)


def added(name: Value, number: Value = 1) -> Callable[[Database], Awaitable[None]]:
    async def add(database: Database) -> None:
        async with database.transaction() as transaction:
            await transaction.execute(INSERT, name=name, number=number)

    return add


async def names(database: Database) -> list[str]:
    async with database.transaction(write=False) as transaction:
        rows = await transaction.fetch("SELECT name FROM things ORDER BY name")
        return [row["name"] for row in rows]


def failing(error: Exception) -> Callable[[Database], Awaitable[None]]:
    async def fail(database: Database) -> None:
        async with database.transaction():
            raise error

    return fail


async def nonsense(database: Database) -> None:
    async with database.transaction() as transaction:
        await transaction.execute("INSERT INTO nonsense nonsense")


# ── what it does not take ────────────────────────────────────────────────────────────────────

BAD: dict[str, Callable[[Database], Awaitable[None]]] = {
    "a number that is too large": added("a", 10**30),
    "a number that is missing": added("a", None),
    "the same key again": added("there"),
    "a mistake of ours": failing(KeyError("nothing")),
    "half a surrogate pair, encoded by us": failing(
        UnicodeEncodeError("utf-8", "\ud800", 0, 1, "")
    ),
    "a refusal that nobody has named": failing(ToolError("failed", "no")),
    "a statement that is none": nonsense,
}


@pytest.mark.parametrize("work", BAD.values(), ids=BAD)
async def test_what_it_does_not_take_is_an_answer(
    make: Make, work: Callable[[Database], Awaitable[None]], caplog: pytest.LogCaptureFixture
) -> None:
    async with linked(make) as link:
        await link.call(Operation(added("there")))
        with pytest.raises(Rejected) as rejected:
            await link.call(Operation(work))
        assert rejected.value.__cause__ is not None
        assert link.healthy
        # Nobody waits, and the transaction has left nothing.
        await link.call(Operation(added("next")))
        assert await link.call(Operation(names)) == ["next", "there"]
    assert [each.getMessage() for each in caplog.records if each.levelname == "WARNING"] == [
        "not taken by the database"
    ]


TEXTS = {
    "half of an emoji": ("she likes \ud83d", "she likes \ufffd"),
    "both halves of one": ("she likes \ud83d\ude00", "she likes 😀"),
    "NUL": ("what time is it\0", "what time is it\ufffd"),
    "a megabyte": ("界" * 350_000, "界" * 350_000),
    "plain": ("grüß dich", "grüß dich"),
}


@pytest.mark.parametrize("text", TEXTS)
async def test_every_text_is_made_fit_at_the_door(make: Make, text: str) -> None:
    given, stored = TEXTS[text]

    async def there_and_back(database: Database) -> object:
        async with database.transaction() as transaction:
            await transaction.execute("CREATE TABLE texts (words TEXT)")
            await transaction.execute("INSERT INTO texts (words) VALUES (:words)", words=given)
            return await transaction.fetch_one(
                "SELECT words FROM texts WHERE words = :words", words=given
            )

    async with linked(make) as link:
        assert await link.call(Operation(there_and_back)) == {"words": stored}


# ── outages ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "error",
    [
        OSError("the disk is gone"),
        ConnectionResetError("gone"),
        TimeoutError(),
        DatabaseFailed("it was moved away"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_an_outage_is_everybodys(make: Make, error: Exception) -> None:
    async with linked(make) as link:
        with pytest.raises(Unavailable):
            await link.call(Operation(failing(error)))
        assert not link.healthy
        with pytest.raises(Unavailable):
            await link.call(Operation(names))


@pytest.mark.parametrize(
    ("code", "outage"),
    [
        (sqlite3.SQLITE_BUSY, True),
        (sqlite3.SQLITE_IOERR, True),
        (sqlite3.SQLITE_IOERR_READ, True),
        (sqlite3.SQLITE_CORRUPT, True),
        (sqlite3.SQLITE_NOTADB, True),
        (sqlite3.SQLITE_READONLY, True),
        (sqlite3.SQLITE_CANTOPEN, True),
        (sqlite3.SQLITE_CONSTRAINT_UNIQUE, False),
        (sqlite3.SQLITE_TOOBIG, False),
        (sqlite3.SQLITE_MISMATCH, False),
        (sqlite3.SQLITE_RANGE, False),
        (None, False),  # of the module itself: a value that it cannot bind
    ],
)
async def test_what_the_codes_of_sqlite_mean(
    tmp_path: Path, code: int | None, outage: bool
) -> None:
    error = sqlite3.OperationalError("?")
    if code is not None:
        error.sqlite_errorcode = code
    async with linked(lambda: make_database(tmp_path, "")) as link:
        with pytest.raises(Unavailable if outage else Rejected):
            await link.call(Operation(failing(error)))
        assert link.healthy is not outage


@pytest.mark.parametrize(
    ("error", "outage"),
    [
        (asyncpg.ConnectionDoesNotExistError("?"), True),
        (asyncpg.AdminShutdownError("?"), True),
        (asyncpg.TooManyConnectionsError("?"), True),
        (asyncpg.ReadOnlySQLTransactionError("?"), True),
        (asyncpg.InsufficientPrivilegeError("?"), True),
        (asyncpg.InterfaceError("the pool is closing"), True),
        (asyncpg.CharacterNotInRepertoireError("?"), False),
        (asyncpg.NumericValueOutOfRangeError("?"), False),
        (asyncpg.UniqueViolationError("?"), False),
        (asyncpg.ProgramLimitExceededError("index row size exceeds maximum"), False),
        (asyncpg.DataError("cannot encode"), False),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_what_the_errors_of_postgresql_mean(error: Exception, outage: bool) -> None:
    database = make_database(Path(), "postgresql://user@127.0.0.1:1/nowhere")
    assert (database.trouble(error).name == "OUTAGE") is outage


# ── a full disk ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
@pytest.mark.parametrize("how", ["sqlite", "system"])
async def test_a_full_disk_refuses_writing_and_not_reading(
    tmp_path: Path, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with linked(lambda: make_database(tmp_path, "")) as link:
        await link.call(Operation(added("before")))
        if how == "sqlite":
            await link.call(Operation(fill))
            too_much = added("x" * 1_000_000)
        else:
            too_much = failing(OSError(errno.ENOSPC, "No space left on device"))
        for _ in range(3):
            with pytest.raises(Unavailable):
                await link.call(Operation(too_much))
            assert await link.call(Operation(names)) == ["before"]
            assert link.healthy
        if how == "sqlite":
            await link.call(Operation(empty))
        loop = asyncio.get_running_loop()
        began = loop.time()
        await link.usable()  # who writes behind waits so long
        assert loop.time() - began <= FULL_S + 1
        await link.call(Operation(added("after")))
        await asyncio.sleep(0)
        assert await link.call(Operation(names)) == ["after", "before"]
    said = [each.getMessage() for each in caplog.records]
    assert said.count("it fails") == 1

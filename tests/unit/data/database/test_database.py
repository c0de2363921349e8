"""Both databases do the same: transactions, locks, migrations."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support import warm
from tests.support.registry_databases import Make
from vixio.core import wall_clock
from vixio.data.database.create import make_database
from vixio.data.database.database import Database, DatabaseFailed, numbered
from vixio.data.database.migrate import Migration, migrate, migrations, version_of

TABLE = "CREATE TABLE things (name TEXT PRIMARY KEY, number BIGINT)"


async def opened(make: Make) -> Database:
    database = make()
    await database.open()
    return database


async def with_table(make: Make) -> Database:
    database = await opened(make)
    async with database.transaction() as transaction:
        await transaction.execute(TABLE)
    return database


async def names(database: Database) -> list[str]:
    async with database.transaction(write=False) as transaction:
        return [row["name"] for row in await transaction.fetch("SELECT name FROM things")]


async def test_what_is_written_can_be_read(make: Make) -> None:
    database = await with_table(make)
    async with database.transaction() as transaction:
        await transaction.execute(
            "INSERT INTO things (name, number) VALUES (:name, :number)", name="ü:x", number=2**40
        )
        changed = await transaction.execute("UPDATE things SET number = number + 1")
    async with database.transaction(write=False) as transaction:
        row = await transaction.fetch_one("SELECT * FROM things WHERE name = :name", name="ü:x")
        none = await transaction.fetch_one("SELECT * FROM things WHERE name = :name", name="y")
    await database.close()
    assert changed == 1
    assert row == {"name": "ü:x", "number": 2**40 + 1}
    assert none is None


async def test_an_error_undoes_the_whole_transaction(make: Make) -> None:
    database = await with_table(make)

    async def write_and_fail() -> None:
        async with database.transaction() as transaction:
            await transaction.execute("INSERT INTO things (name) VALUES ('a')")
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        await write_and_fail()
    assert await names(database) == []
    await database.close()


async def test_another_connection_notices_a_change(make: Make) -> None:
    mine, other = await with_table(make), await opened(make)
    await mine.changed()
    async with other.transaction() as transaction:
        await transaction.execute("INSERT INTO things (name) VALUES ('a')")
    assert await mine.changed()
    assert await names(mine) == ["a"]
    await mine.close()
    await other.close()


async def test_a_database_is_brought_to_the_newest_version_once(make: Make) -> None:
    database = await opened(make)
    assert await version_of(database) == migrations()[-1].version
    await database.open()
    await database.close()
    assert [each.version for each in migrations()] == list(range(1, len(migrations()) + 1))


async def test_a_step_that_fails_leaves_the_version_before(make: Make) -> None:
    database = await opened(make)
    have = await version_of(database)
    steps = [
        *migrations(),
        Migration(have + 1, "good", TABLE),
        Migration(have + 2, "bad", "CREATE TABLE more (a TEXT);\nCREATE NONSENSE"),
    ]
    with pytest.raises(Exception, match=r"(?i)syntax"):
        await migrate(database, steps)
    assert await version_of(database) == have
    async with database.transaction(write=False) as transaction:
        assert {"things", "more"}.isdisjoint(await transaction.tables())
    await migrate(database, steps[:-1])
    assert await version_of(database) == have + 1
    await database.close()


async def test_a_database_of_a_newer_version_is_refused_and_left_as_it_is(make: Make) -> None:
    database = await opened(make)
    async with database.transaction() as transaction:
        await transaction.execute("INSERT INTO vixio_migrations VALUES (9999, 'future', 0)")
    await database.close()
    with pytest.raises(DatabaseFailed, match="written by a newer Vixio"):
        await make().open()


async def test_processes_that_start_together_do_not_fight_over_migrations(make: Make) -> None:
    databases = [make() for _ in range(6)]
    await asyncio.gather(*(database.open() for database in databases))
    assert {await version_of(database) for database in databases} == {migrations()[-1].version}
    for database in databases:
        await database.close()


@pytest.mark.slow
def test_processes_migrate_one_file_together(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys; from pathlib import Path\n"
        "from vixio.data.database.create import make_database\n"
        "asyncio.run(make_database(Path(sys.argv[1]), '').open())"
    )
    started = [
        warm.start(
            [sys.executable, "-c", program, str(tmp_path)],
            cwd=tmp_path,
            env=warm.kept(),
            stderr=subprocess.PIPE,
        )
        for _ in range(5)
    ]
    for process in started:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors.decode()


async def test_the_file_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    database = make_database(tmp_path / "new", "")
    await database.open()
    await database.close()
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "new" / "vixio.db").stat().st_mode) == 0o600


async def test_a_file_that_is_taken_away_is_replaced(tmp_path: Path) -> None:
    database = make_database(tmp_path, "")
    await database.open()
    (tmp_path / "vixio.db").rename(tmp_path / "away.db")
    async with database.transaction() as transaction:
        await transaction.execute(TABLE)
    await database.close()
    with sqlite3.connect(tmp_path / "vixio.db") as connection:
        assert connection.execute("SELECT count(*) FROM things").fetchone() == (0,)
    connection.close()


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"no database at all, but a text that is long enough" * 20, "restore a backup")],
)
async def test_a_damaged_file_is_named_with_the_remedy(
    tmp_path: Path, content: bytes, words: str
) -> None:
    (tmp_path / "vixio.db").write_bytes(content)
    with pytest.raises(DatabaseFailed, match=words):
        await make_database(tmp_path, "").open()


async def test_an_unreachable_server_is_named_without_its_password() -> None:
    database = make_database(Path(), "postgresql+asyncpg://vixio:secret@127.0.0.1:1/home")
    with pytest.raises(DatabaseFailed) as caught:
        await database.open()
    assert "postgresql://127.0.0.1:1/home" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_parameters_get_numbers_and_casts_stay() -> None:
    text, values = numbered("SELECT :b::text, :a, :b", {"a": 1, "b": 2})
    assert (text, values) == ("SELECT $1::text, $2, $1", [2, 1])


async def test_the_clock_of_postgresql_is_that_of_all(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine whose own is wrong, from the start or later, has the right time."""
    database = make()
    if not database.place.startswith("postgresql"):
        pytest.skip("a file belongs to one machine")
    monkeypatch.setattr(wall_clock.CLOCK, "_ahead", None)
    right = time.time
    monkeypatch.setattr(time, "time", lambda: right() - 7_200)
    await database.open()
    assert abs(wall_clock.now_s() - right()) < 60
    monkeypatch.setattr(time, "time", lambda: right() + 7_200)
    assert abs(wall_clock.now_s() - right()) < 60
    wall_clock.CLOCK.set(0)
    assert await database.changed()
    assert abs(wall_clock.now_s() - right()) < 60
    await database.close()

"""A SQLite file that several processes write."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from vixio.data.database import sqlite_file
from vixio.data.database.sqlite_file import begin_to_write, open_file

WITHOUT_A_PAUSE = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA busy_timeout=60000")
print("ready", flush=True)
while True:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO things VALUES (1)")
    time.sleep(0.03)  # as a slow disk
    connection.execute("COMMIT")
    time.sleep(0.0002)
"""


@contextmanager
def written_without_a_pause(path: Path) -> Iterator[None]:
    """Have another process write the file's table, but for moments between two transactions."""
    writer = subprocess.Popen([sys.executable, "-c", WITHOUT_A_PAUSE, path], stdout=subprocess.PIPE)
    try:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        yield
    finally:
        writer.kill()
        writer.communicate()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Make a file with an empty table."""
    path = tmp_path / "things.db"
    with closing(open_file(path)) as connection:
        connection.execute("CREATE TABLE things (number INTEGER)")
    return path


def test_a_writer_gets_its_turn_beside_one_that_never_pauses(path: Path) -> None:
    def written(number: int) -> int:
        sql = "SELECT count(*) FROM things WHERE number = ?"
        (count,) = connection.execute(sql, (number,)).fetchone()
        return int(count)

    with closing(open_file(path)) as connection, written_without_a_pause(path):
        for turn in range(10):
            while written(1) <= turn:
                time.sleep(0.005)
            begin_to_write(connection)
            connection.execute("INSERT INTO things VALUES (2)")
            connection.execute("COMMIT")
        assert written(2) == 10


def test_a_file_that_is_never_free_fails_in_bounded_time(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "IO_TIMEOUT_S", 0.2)
    with closing(open_file(path)) as other, closing(open_file(path)) as connection:
        begin_to_write(other)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            begin_to_write(connection)
        other.execute("COMMIT")
        begin_to_write(connection)
        (limit,) = connection.execute("PRAGMA busy_timeout").fetchone()
    assert limit == 200, "what else waits, waits as long as before"


def test_opening_a_file_again_keeps_what_this_process_has_locked(path: Path) -> None:
    """POSIX drops a process's locks on a file when any of its descriptors of it is closed.

    Another process would then take itself for the last one that has the file open, and delete the
    log that this one writes.
    """
    once = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('SELECT * FROM things')"
    with closing(open_file(path)) as connection:
        connection.execute("INSERT INTO things VALUES (1)")
        open_file(path).close()
        subprocess.run([sys.executable, "-c", once, path], check=True)
        assert path.with_name(f"{path.name}-wal").stat().st_size > 0

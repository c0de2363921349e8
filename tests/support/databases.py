"""Database servers of this machine, each run for the tests alone, on loopback and a free port."""

from __future__ import annotations

import os
import pwd
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from tests.support.servers import free_port, missing

START_S = 20.0

REQUIRED = "VIXIO_TEST_DATABASES"
"""Environment variable: set by `make test-stores`, where a missing server is a failure."""


def _missing(what: str) -> NoReturn:
    missing(what, required=REQUIRED, target="test-stores")


def _answers(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until the server takes connections, for a bounded time."""
    end = time.monotonic() + START_S
    while True:
        assert process.poll() is None, "the database server ended"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert time.monotonic() < end, "the database server does not answer"
            time.sleep(0.02)
        else:
            return


@contextmanager
def _ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(5)


@contextmanager
def postgres_server() -> Iterator[str]:
    """Run a PostgreSQL server; gives its URL. Skips the test where it is not installed."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not versions:
        _missing("PostgreSQL is not installed")
    user = None
    if os.geteuid() == 0:  # it refuses to run as root
        try:
            user = pwd.getpwnam("postgres").pw_uid
        except KeyError:
            _missing("PostgreSQL does not run as root, and there is no user postgres")
    # Not below pytest's directory, which other users may not enter.
    with tempfile.TemporaryDirectory(prefix="vixio-pg-") as directory:
        if user is not None:
            os.chown(directory, user, -1)
        subprocess.run(
            [versions[-1] / "initdb", "-D", "data", "-U", "vixio", "-A", "trust", "-N"],
            check=True,
            capture_output=True,
            user=user,
            cwd=directory,
            timeout=60,
        )
        port = free_port()
        options = ["-D", "data", "-p", str(port), "-h", "127.0.0.1", "-k", directory, "-F"]
        process = subprocess.Popen(
            [versions[-1] / "postgres", *options],
            user=user,
            cwd=directory,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        with _ended(process):
            _answers(process, port)
            ready = [str(versions[-1] / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
            end = time.monotonic() + START_S
            while subprocess.run(ready, check=False).returncode:
                assert time.monotonic() < end, "PostgreSQL does not become ready"
                time.sleep(0.02)
            yield f"postgresql+asyncpg://vixio@127.0.0.1:{port}/postgres"

"""What tests with servers of this machine have in common."""

from __future__ import annotations

import asyncio
import fcntl
import os
import random
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import gettempdir
from typing import Any, NoReturn

import pytest

OWN_PORTS = (15_000, 32_000)
"""Below the dynamic ports of Linux (32768 to 60999), macOS and Windows (from 49152)."""

_given: set[int] = set()


def missing(what: str, *, required: str, target: str) -> NoReturn:
    """Skip the test, or fail it where the variable ``required`` says that nothing is missing.

    ``target``: of the Makefile, which installs it and sets the variable.
    """
    if os.environ.get(required):
        pytest.fail(what)
    pytest.skip(f"{what}; `make {target}` installs it")  # and fails without it


def free_port() -> int:
    """Return one of :func:`free_ports`."""
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """Return different ports that were free a moment ago, of those that no system gives out.

    A port that the system chose would be given to the next program that asks for any. Whoever got
    one may not listen yet, or listen again: until this process ends, no other test of this machine
    gets it.
    """
    locks = _locks()
    ports: list[int] = []
    while len(ports) < count:
        port = random.randrange(*OWN_PORTS)
        if port in _given:
            continue
        with suppress(OSError):  # another process has it, or listens on it
            fcntl.lockf(locks, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
            with socket.create_server(("127.0.0.1", port)):
                _given.add(port)
                ports.append(port)
    return ports


@cache
def _locks() -> int:
    """Open the file with a byte for each port. The system frees a process's locks at its end."""
    return os.open(Path(gettempdir(), f"vixio-test-ports-{os.getuid()}"), os.O_RDWR | os.O_CREAT)


@asynccontextmanager
async def python(*words: str, **options: Any) -> AsyncIterator[asyncio.subprocess.Process]:  # noqa: ANN401 - of asyncio's function
    """Run Python with ``words``; it is killed if it still runs at the end of the context."""
    process = await asyncio.create_subprocess_exec(sys.executable, *words, **options)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()

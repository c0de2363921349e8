"""What tests with servers of this machine have in common."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NoReturn

import pytest


def missing(what: str, *, required: str, target: str) -> NoReturn:
    """Skip the test, or fail it where the variable ``required`` says that nothing is missing.

    ``target``: of the Makefile, which installs it and sets the variable.
    """
    if os.environ.get(required):
        pytest.fail(what)
    pytest.skip(f"{what}; `make {target}` installs it")  # and fails without it


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


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

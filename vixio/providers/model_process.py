"""A process with a model in it, seen from the server: started, told, heard and ended.

It talks in ``frames`` over a socket pair that is its standard input and output, and ends when that
is closed, so it cannot outlive the server.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Generic

from vixio.core.children import command, environment
from vixio.core.errors import ProviderError, ProviderTimeout, ProviderUnavailable
from vixio.core.framing import Frame, KindT, Unpacker, pack

_STOP_SECONDS: Final = 2.0
_READ_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Program(Generic[KindT]):
    """What is run, and how it talks. ``provider``: whose errors they are."""

    provider: str
    module: str
    kinds: type[KindT]
    ready: KindT
    """The model is loaded; its JSON, if it has any, is about it."""
    unusable: KindT
    """JSON with ``message``: why it cannot be; the process ends. ``retryable``: it may be later."""
    max_payload: int
    quiet: bool = False
    """What it prints to standard error is of no use."""
    unusable_reason: str = "no_model"
    """Key of :data:`~vixio.core.messages.REASONS` for a process that is unusable for good."""

    def ended(self) -> ProviderError:
        """Return what an utterance is told whose process is gone."""
        return ProviderError(self.provider, "the recognition process ended")


class ModelProcess(Generic[KindT]):
    """One process; it ends when :meth:`stop` closes its input, or by itself."""

    def __init__(
        self,
        program: Program[KindT],
        process: subprocess.Popen[bytes],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._program = program
        self._process = process
        self._reader = reader
        self._writer = writer
        self._unpacker = Unpacker(program.kinds, program.max_payload)
        self.about: dict[str, Any] = {}
        """What it said of its model."""

    @classmethod
    async def start(
        cls, program: Program[KindT], argument: str, seconds: float
    ) -> ModelProcess[KindT]:
        """Start it and wait until its model is loaded, no longer than ``seconds``.

        Raises ProviderError.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            # In a thread: starting a process takes milliseconds.
            spawning = asyncio.create_task(asyncio.to_thread(spawn, program, argument, theirs))
            try:
                popen = await asyncio.shield(spawning)
            except asyncio.CancelledError:
                ours.close()
                with suppress(OSError):  # there is none
                    await _bury(await spawning)
                raise
            except BaseException:
                ours.close()
                raise
        ours.setblocking(False)
        try:
            streams = await asyncio.open_connection(sock=ours)
        except BaseException:
            ours.close()
            await _bury(popen)
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
        """Its process id."""
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
        """Write a frame; nothing happens if the process is gone, which its reader will notice."""
        if not self._writer.is_closing():
            self._writer.write(pack(kind, number, payload))

    async def drain(self) -> None:
        """Wait while the pipe is full. Raises ProviderError if the process is gone."""
        try:
            await self._writer.drain()
        except (ConnectionError, RuntimeError) as error:
            raise self._program.ended() from error

    async def run(self, take: Callable[[Frame[KindT]], None]) -> None:
        """Hand on what it says until it ends. Raises ValueError when that makes no sense."""
        while frames := await self._read():
            for frame in frames:
                take(frame)

    def kill(self) -> None:
        """End it at once; :meth:`run` returns."""
        self._process.kill()  # knows itself whether it is over

    async def stop(self, *, kill: bool = False) -> None:
        """End it: by closing its input, by force if that does not help. Not while it is read.

        Idempotent, never raises.
        """
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
        for frame in await self._read():
            if frame.kind is program.unusable:
                said = frame.json()
                if said.get("retryable"):
                    raise ProviderError(program.provider, said["message"], reason="unreachable")
                raise ProviderUnavailable(
                    program.provider, said["message"], reason=program.unusable_reason
                )
            if frame.kind is program.ready:
                self.about = frame.json() if frame.payload else {}
                return
        raise ProviderError(program.provider, "the process ended while it loaded the model")

    async def _read(self) -> list[Frame[KindT]]:
        """Return the next frames, none at the end."""
        try:
            while data := await self._reader.read(_READ_BYTES):
                if frames := list(self._unpacker.feed(data)):
                    return frames
        except ConnectionError:  # it died with something unread: an end like any other
            pass
        return []


def spawn(program: Program[Any], argument: str, channel: socket.socket) -> subprocess.Popen[bytes]:
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


async def _bury(process: subprocess.Popen[bytes]) -> None:
    """End a process that nobody talks with."""
    process.kill()
    await asyncio.to_thread(process.wait)

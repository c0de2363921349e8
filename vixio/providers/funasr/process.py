"""The process with the model, seen from the server."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import vixio
from vixio.core.errors import ProviderError, ProviderTimeout, ProviderUnavailable
from vixio.providers.funasr.wire import NAME, Frame, Kind, Unpacker, WorkerSettings, pack

_STOP_SECONDS: Final = 2.0
_READ_BYTES: Final = 1 << 16


class ModelProcess:
    """One process; it ends when :meth:`stop` closes its input, or by itself."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer
        self._unpacker = Unpacker()
        self.about: dict[str, Any] = {}
        """What it said of its model."""

    @classmethod
    async def start(cls, settings: WorkerSettings, seconds: float) -> ModelProcess:
        """Start it and wait until its model is loaded. Raises ProviderError."""
        ours, theirs = socket.socketpair()
        with theirs:
            # In a thread: starting a process takes milliseconds.
            spawning = asyncio.create_task(asyncio.to_thread(_spawn, settings, theirs))
            try:
                popen = await asyncio.shield(spawning)
            except BaseException:
                ours.close()
                if not spawning.done() or spawning.exception() is None:  # we were cancelled
                    popen = await spawning
                    popen.kill()
                    await asyncio.to_thread(popen.wait)
                raise
        ours.setblocking(False)
        process = cls(popen, *await asyncio.open_connection(sock=ours))
        try:
            async with asyncio.timeout(seconds):
                await process._greeting()
        except TimeoutError:
            await process.stop(kill=True)
            raise ProviderTimeout(NAME, "loaded model", seconds) from None
        except BaseException:
            await process.stop(kill=True)
            raise
        return process

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def send(self, kind: Kind, number: int, payload: bytes | dict[str, Any] = b"") -> None:
        """Write a frame; nothing happens if the process is gone, which its reader will notice."""
        if not self._writer.is_closing():
            self._writer.write(pack(kind, number, payload))

    async def drain(self) -> None:
        """Wait while the pipe is full. Raises ProviderError if the process is gone."""
        try:
            await self._writer.drain()
        except (ConnectionError, RuntimeError) as error:
            raise ended() from error

    async def run(self, take: Callable[[Frame], None]) -> None:
        """Hand on what it says until it ends. Raises ValueError when that makes no sense."""
        while frames := await self._read():
            for frame in frames:
                take(frame)

    def kill(self) -> None:
        """End it at once; :meth:`run` returns."""
        self._process.kill()

    async def stop(self, *, kill: bool = False) -> None:
        """End it: by closing its input, by force if that does not help. Idempotent."""
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
        for frame in await self._read():
            if frame.kind is Kind.UNUSABLE:
                raise ProviderUnavailable(NAME, frame.json()["message"], reason="no_model")
            if frame.kind is Kind.READY:
                self.about = frame.json()
                return
        raise ProviderError(NAME, "the process ended while it loaded the model")

    async def _read(self) -> list[Frame]:
        """Return the next frames, none at the end."""
        try:
            while data := await self._reader.read(_READ_BYTES):
                if frames := list(self._unpacker.feed(data)):
                    return frames
        except ConnectionError:  # it died with something unread: an end like any other
            pass
        return []


def ended() -> ProviderError:
    """Return what an utterance is told whose process is gone."""
    return ProviderError(NAME, "the recognition process ended")


def _spawn(settings: WorkerSettings, channel: socket.socket) -> subprocess.Popen[bytes]:
    # Its own session: a Ctrl-C at the terminal is the server's to handle.
    return subprocess.Popen(  # noqa: S603 - this interpreter, our module, our own JSON
        [sys.executable, "-m", "vixio.providers.funasr.worker", json.dumps(asdict(settings))],
        stdin=channel.fileno(),
        stdout=channel.fileno(),
        stderr=subprocess.DEVNULL,
        env=_environment(),
        start_new_session=True,
    )


def _environment() -> dict[str, str]:
    """Let the process find what the server finds, wherever it was started from."""
    root = str(Path(vixio.__file__).parent.parent)
    paths = dict.fromkeys([root, *(path for path in sys.path if path)])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}

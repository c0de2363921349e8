"""The worker processes: starting, watching and replacing them.

A worker that dies fails the utterances that it had and is replaced; one that does not answer in
time is killed, which is the same. Utterances of other workers do not notice.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import socket
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from loguru import logger

import vixio
from vixio.core.cores import own_cores
from vixio.core.errors import ProviderError, ProviderTimeout, ProviderUnavailable
from vixio.providers.pocketsphinx.preparing import Preparations
from vixio.providers.pocketsphinx.wire import Frame, Kind, Unpacker, WorkerSettings, pack

NAME: Final = "pocketsphinx"

_START_SECONDS: Final = 30.0
"""A cold disk and a busy machine included; it takes 0.5 s otherwise."""
_STOP_SECONDS: Final = 2.0
_RESTART_SECONDS: Final = (0.0, 0.5, 2.0, 5.0)
"""How long to wait before each further start, until one succeeds."""
_READ_BYTES: Final = 1 << 16


class WorkerProcess:
    """One process and the utterances that it has."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer
        self._results: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._numbers = itertools.count(1)
        self._unpacker = Unpacker()
        self.preparations = Preparations(lambda request: self.send(Kind.PREPARE, payload=request))

    @classmethod
    async def start(cls, settings: WorkerSettings) -> WorkerProcess:
        """Start it and wait until its model is loaded. Raises ProviderError."""
        ours, theirs = socket.socketpair()
        with theirs:
            # In a thread: starting a process takes milliseconds.
            spawning = asyncio.create_task(asyncio.to_thread(_spawn, settings, theirs))
            try:
                process = await asyncio.shield(spawning)
            except asyncio.CancelledError:
                ours.close()
                with suppress(OSError):  # there is none
                    orphan = await spawning
                    orphan.kill()
                    await asyncio.to_thread(orphan.wait)
                raise
            except BaseException:
                ours.close()
                raise
        ours.setblocking(False)
        try:
            streams = await asyncio.open_connection(sock=ours)
        except BaseException:
            ours.close()
            process.kill()
            await asyncio.to_thread(process.wait)
            raise
        worker = cls(process, *streams)
        try:
            async with asyncio.timeout(_START_SECONDS):
                await worker._greeting()
        except TimeoutError:
            await worker.stop(kill=True)
            raise ProviderTimeout(NAME, "worker process", _START_SECONDS) from None
        except BaseException:
            await worker.stop(kill=True)
            raise
        return worker

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def load(self) -> int:
        """How many utterances it has."""
        return len(self._results)

    def open(self, request: bytes) -> tuple[int, asyncio.Future[dict[str, Any]]]:
        """Begin an utterance; return its number and where its result will be."""
        number = next(self._numbers)
        result: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        # Whoever closes a stream does not ask why it failed.
        result.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._results[number] = result
        self.send(Kind.OPEN, number, request)
        return number, result

    def forget(self, number: int) -> None:
        """Drop an utterance, finished or not."""
        result = self._results.pop(number, None)
        if result is not None and not result.done():
            result.cancel()
            self.send(Kind.CANCEL, number)

    def send(self, kind: Kind, number: int = 0, payload: bytes = b"") -> None:
        """Write a frame; nothing happens if the process is gone, which its reader will notice."""
        if not self._writer.is_closing():
            self._writer.write(pack(kind, number, payload))

    async def drain(self) -> None:
        """Wait while the pipe is full. Raises ProviderError if the process is gone."""
        try:
            await self._writer.drain()
        except (ConnectionError, RuntimeError) as error:
            raise _died() from error

    async def run(self) -> None:
        """Hand results out until the process ends; then fail what is left."""
        preparing = asyncio.create_task(self.preparations.run())
        try:
            while frames := await self._read():
                for frame in frames:
                    self._hand_out(frame)
        finally:
            preparing.cancel()
            self._fail_all()

    def kill(self) -> None:
        """End it at once; :meth:`run` returns."""
        self._process.kill()  # knows itself whether it is over

    async def stop(self, *, kill: bool = False) -> None:
        """End it: by closing its input, by force if that does not help. Not while it is read.

        What it had fails. Idempotent, never raises.
        """
        self._fail_all()
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

    def _fail_all(self) -> None:
        results, self._results = self._results, {}
        for result in results.values():
            if not result.done():
                result.set_exception(_died())

    async def _greeting(self) -> None:
        for frame in await self._read():
            if frame.kind is Kind.UNUSABLE:
                raise ProviderUnavailable(NAME, frame.json()["message"])
            if frame.kind is Kind.READY:
                return
        raise ProviderError(NAME, "the worker process ended while it started")

    async def _read(self) -> list[Frame]:
        """Return the next frames, none at the end."""
        try:
            while data := await self._reader.read(_READ_BYTES):
                if frames := list(self._unpacker.feed(data)):
                    return frames
        except ConnectionError:  # it died with something unread: an end like any other
            pass
        return []

    def _hand_out(self, frame: Frame) -> None:
        if frame.kind is Kind.GRAMMAR:
            logger.bind(**frame.json()).debug("grammar made")
            return
        if not frame.stream:
            self.preparations.done()
            return
        result = self._results.pop(frame.stream, None)
        if result is None or result.done():  # given up meanwhile
            return
        if frame.kind is Kind.RESULT:
            result.set_result(frame.json())
        else:
            result.set_exception(ProviderError(NAME, frame.json()["message"], retryable=False))


class WorkerPool:
    """Keeps ``size`` workers running."""

    def __init__(self, settings: WorkerSettings, size: int) -> None:
        self._settings = settings
        self._size = size
        self._ready: list[WorkerProcess] = []
        self._changed = asyncio.Event()
        self._keepers: list[asyncio.Task[None]] = []
        self._prepared = b""
        self.restarts = 0
        """How many workers were replaced."""

    @property
    def workers(self) -> tuple[WorkerProcess, ...]:
        """Those that can be used now."""
        return tuple(self._ready)

    async def start(self) -> None:
        """Start all; raises ProviderError if the first try fails for any."""
        loop = asyncio.get_running_loop()
        starts = [
            asyncio.create_task(WorkerProcess.start(self._settings)) for _ in range(self._size)
        ]
        try:
            workers = await asyncio.gather(*starts)
        except BaseException:
            for start in starts:
                if not start.cancelling():  # a second time would cut short what cleans up
                    start.cancel()
            for outcome in await asyncio.gather(*starts, return_exceptions=True):
                if isinstance(outcome, WorkerProcess):
                    await outcome.stop()
            raise
        self._keepers = [loop.create_task(self._keep(worker)) for worker in workers]
        self._ready.extend(workers)
        self._changed.set()

    async def choose(self) -> WorkerProcess:
        """Return the worker with the fewest utterances, waiting if all are being replaced."""
        while not self._ready:
            self._changed.clear()
            await self._changed.wait()
        return min(self._ready, key=lambda worker: worker.load)

    def prepare(self, request: bytes) -> None:
        """Let all workers, also later ones, make a grammar."""
        self._prepared = request
        for worker in self._ready:
            worker.preparations.want(request)

    async def close(self) -> None:
        """End all workers; what they had fails."""
        workers = self.workers  # a keeper that is cancelled before it ever ran stops none
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        self._keepers.clear()
        self._ready.clear()
        await asyncio.gather(*(worker.stop() for worker in workers))

    async def _keep(self, worker: WorkerProcess) -> None:
        """Watch over one place in the pool, whoever fills it."""
        try:
            while True:
                try:
                    await worker.run()
                except ValueError as error:  # its output makes no sense
                    logger.bind(reason=str(error)).warning("recognition worker confused")
                self._ready.remove(worker)
                await worker.stop(kill=True)
                self.restarts += 1
                logger.bind(pid=worker.pid).warning("recognition worker ended, starting another")
                worker = await self._replace()
                self._ready.append(worker)
                if self._prepared:
                    worker.preparations.want(self._prepared)
                self._changed.set()
        finally:
            if worker in self._ready:
                self._ready.remove(worker)
            await worker.stop()

    async def _replace(self) -> WorkerProcess:
        for delay in itertools.chain(_RESTART_SECONDS, itertools.repeat(_RESTART_SECONDS[-1])):
            await asyncio.sleep(delay)
            try:
                return await WorkerProcess.start(self._settings)
            except (ProviderError, OSError) as error:
                logger.bind(reason=str(error)).error("recognition worker did not start")
        raise AssertionError("unreachable: the delays go on without end")


def default_size() -> int:
    """Return how many workers serve a small machine well: two, but no more than its share."""
    return min(2, own_cores())


def _spawn(settings: WorkerSettings, channel: socket.socket) -> subprocess.Popen[bytes]:
    # Its own session: a Ctrl-C at the terminal is the server's to handle.
    return subprocess.Popen(  # noqa: S603 - this interpreter, our module, our own JSON
        [
            sys.executable,
            "-m",
            "vixio.providers.pocketsphinx.worker",
            json.dumps(asdict(settings)),
        ],
        stdin=channel.fileno(),
        stdout=channel.fileno(),
        env=_environment(),
        start_new_session=True,
    )


def _environment() -> dict[str, str]:
    """Let the worker find what the server finds, wherever it was started from."""
    root = str(Path(vixio.__file__).parent.parent)
    paths = dict.fromkeys([root, *(path for path in sys.path if path)])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def _died() -> ProviderError:
    return ProviderError(NAME, "the recognition worker ended")

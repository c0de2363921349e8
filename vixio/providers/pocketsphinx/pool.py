"""The worker processes: starting, watching and replacing them.

A worker that dies fails the utterances that it had and is replaced; one that does not answer in
time is killed, which is the same. Utterances of other workers do not notice.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from dataclasses import asdict
from typing import Any, Final

from loguru import logger

from vixio.core.cores import own_cores
from vixio.core.errors import ProviderError
from vixio.core.framing import Frame
from vixio.providers.model_process import ModelProcess, Program
from vixio.providers.pocketsphinx.preparing import Preparations
from vixio.providers.pocketsphinx.wire import MAX_PAYLOAD, NAME, Kind, WorkerSettings

PROGRAM: Final = Program(
    provider=NAME,
    module="vixio.providers.pocketsphinx.worker",
    kinds=Kind,
    ready=Kind.READY,
    unusable=Kind.UNUSABLE,
    max_payload=MAX_PAYLOAD,
)

_START_SECONDS: Final = 30.0
"""A cold disk and a busy machine included; it takes 0.5 s otherwise."""
_RESTART_SECONDS: Final = (0.0, 0.5, 2.0, 5.0)
"""How long to wait before each further start, until one succeeds."""


class WorkerProcess:
    """One process and the utterances that it has."""

    def __init__(self, process: ModelProcess[Kind]) -> None:
        self._process = process
        self._results: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._numbers = itertools.count(1)
        self.preparations = Preparations(lambda request: self.send(Kind.PREPARE, payload=request))

    @classmethod
    async def start(cls, settings: WorkerSettings) -> WorkerProcess:
        """Start it and wait until its model is loaded. Raises ProviderError."""
        argument = json.dumps(asdict(settings))
        return cls(await ModelProcess.start(PROGRAM, argument, _START_SECONDS))

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
        self._process.send(kind, number, payload)

    @property
    def waiting(self) -> int:
        """Bytes that it has not read yet."""
        return self._process.waiting

    async def drain(self) -> None:
        """Wait while the pipe is full. Raises ProviderError if the process is gone."""
        await self._process.drain()

    async def run(self) -> None:
        """Hand results out until the process ends; then fail what is left."""
        preparing = asyncio.create_task(self.preparations.run())
        try:
            await self._process.run(self._hand_out)
        finally:
            preparing.cancel()
            self._fail_all()

    def kill(self) -> None:
        """End it at once; :meth:`run` returns."""
        self._process.kill()

    async def stop(self, *, kill: bool = False) -> None:
        """End it; what it had fails. Not while it is read. Idempotent, never raises."""
        self._fail_all()
        await self._process.stop(kill=kill)

    def _fail_all(self) -> None:
        results, self._results = self._results, {}
        for result in results.values():
            if not result.done():
                result.set_exception(PROGRAM.ended())

    def _hand_out(self, frame: Frame[Kind]) -> None:
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

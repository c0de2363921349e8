"""The worker processes that decode, and the utterances that each has.

A worker that ends fails its utterances and is replaced. One that does not answer in time is
killed. Utterances of other workers are not affected.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final

from vixio.core.cores import own_cores
from vixio.core.errors import ProviderError
from vixio.core.framing import Frame
from vixio.providers.inference.workers import (
    WorkerClient,
    WorkerPool,
    WorkerProcess,
    WorkerProgram,
)
from vixio.providers.pocketsphinx.messages import MAX_PAYLOAD, NAME, Kind, WorkerSettings

_log = logging.getLogger(__name__)

PROGRAM: Final = WorkerProgram(
    provider=NAME,
    module="vixio.providers.pocketsphinx.worker",
    kinds=Kind,
    ready=Kind.READY,
    unusable=Kind.UNUSABLE,
    max_payload=MAX_PAYLOAD,
)

_START_SECONDS: Final = 30.0
"""A cold disk and a busy machine included; it takes 0.5 s otherwise."""


class RecognitionWorker(WorkerClient[Kind]):
    """One process and the utterances that it has."""

    def __init__(self, process: WorkerProcess[Kind]) -> None:
        super().__init__(process)
        self._results: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._numbers = itertools.count(1)
        self.preparations = Preparations(lambda request: self.send(Kind.PREPARE, payload=request))

    @classmethod
    async def start(cls, settings: WorkerSettings) -> RecognitionWorker:
        """Start a process and wait until its model is loaded. Raises ProviderError."""
        argument = json.dumps(asdict(settings))
        return cls(await WorkerProcess.start(PROGRAM, argument, _START_SECONDS))

    @property
    def load(self) -> int:
        """How many utterances it has."""
        return len(self._results)

    def open(self, request: bytes) -> tuple[int, asyncio.Future[dict[str, Any]]]:
        """Begin an utterance; return its number and where its result will be."""
        number = next(self._numbers)
        result: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        # A stream that is closed does not read it.
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
        self.process.send(kind, number, payload)

    @property
    def waiting(self) -> int:
        """Bytes that it has not read yet."""
        return self.process.waiting

    async def drain(self) -> None:
        """Wait while the pipe is full. Raises ProviderError if the process is gone."""
        await self.process.drain()

    async def run(self) -> None:
        """Hand results out until the process ends, then fail what is left.

        Raises ValueError for a malformed message.
        """
        preparing = asyncio.create_task(self.preparations.run())
        try:
            await super().run()
        finally:
            preparing.cancel()
            self._fail_all()

    def kill(self) -> None:
        """End the process at once; :meth:`run` returns."""
        self.process.kill()

    async def stop(self, *, kill: bool = False) -> None:
        """End the process; its utterances fail. Not during :meth:`run`. Idempotent."""
        self._fail_all()
        await super().stop(kill=kill)

    def _fail_all(self) -> None:
        results, self._results = self._results, {}
        for result in results.values():
            if not result.done():
                result.set_exception(PROGRAM.ended())

    def take(self, frame: Frame[Kind]) -> None:
        """Hand a result to its utterance."""
        if frame.kind is Kind.GRAMMAR:
            _log.debug("grammar made", extra=frame.json())
            return
        if not frame.stream:
            self.preparations.done()
            return
        self.proven = True
        result = self._results.pop(frame.stream, None)
        if result is None or result.done():  # cancelled meanwhile
            return
        if frame.kind is Kind.RESULT:
            result.set_result(frame.json())
        else:
            result.set_exception(ProviderError(NAME, frame.json()["message"], retryable=False))


class RecognitionPool(WorkerPool[RecognitionWorker]):
    """The workers, which know the grammar that was prepared last."""

    def __init__(self, settings: WorkerSettings, size: int) -> None:
        super().__init__(NAME, lambda: RecognitionWorker.start(settings), size)
        self._prepared = b""

    async def choose(self) -> RecognitionWorker:
        """Return the worker with the fewest utterances, waiting if all are being replaced.

        Raises ProviderError if the pool is closed.
        """
        if not await self.ready():
            raise ProviderError(NAME, "closed", retryable=False)
        return min(self.workers, key=lambda worker: worker.load)

    def prepare(self, request: bytes) -> None:
        """Let all workers, also later ones, make a grammar."""
        self._prepared = request
        for worker in self.workers:
            worker.preparations.want(request)

    def on_ready(self, worker: RecognitionWorker) -> None:
        """Let a new worker make the grammar."""
        if self._prepared:
            worker.preparations.want(self._prepared)


def default_size() -> int:
    """Return how many workers serve a small machine well: two, but no more than its share."""
    return min(2, own_cores())


MAX_WANTED: Final = 64
"""Requests that may wait for a worker, which keeps no more grammars either."""

SPARE: Final = 0.25
"""The share of a worker's time that preparing may take."""


class Preparations:
    """The grammars that one worker makes ahead of their use. ``send`` sends it one request.

    Devices may change their tools every second, and a grammar costs a worker tens of milliseconds.
    So one is made at a time, the latest request first, followed by a pause in which the worker is
    free for utterances. This is only an optimisation: an utterance carries the request for its own
    grammar.
    """

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self._wanted: OrderedDict[bytes, None] = OrderedDict()
        self._changed = asyncio.Event()
        self._done = asyncio.Event()

    @property
    def waiting(self) -> int:
        """How many requests have not been sent yet."""
        return len(self._wanted)

    def want(self, request: bytes) -> None:
        """Add a request; the oldest is dropped when there are too many."""
        self._wanted[request] = None
        self._wanted.move_to_end(request)
        while len(self._wanted) > MAX_WANTED:
            self._wanted.popitem(last=False)
        self._changed.set()

    def done(self) -> None:
        """Note that the worker has answered the last request."""
        self._done.set()

    async def run(self) -> None:
        """Send the requests, one at a time, until cancelled."""
        while True:
            while not self._wanted:
                self._changed.clear()
                await self._changed.wait()
            request, _ = self._wanted.popitem()
            self._done.clear()
            began = time.monotonic()
            self._send(request)
            await self._done.wait()
            await asyncio.sleep((time.monotonic() - began) * (1 / SPARE - 1))

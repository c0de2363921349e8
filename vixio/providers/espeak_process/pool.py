"""The worker processes that all eSpeak NG voices of a server share.

A request goes to the worker with the fewest. When a worker ends, the request that it was serving
fails and its other requests go to the next worker, so one crash costs one sentence. Workers that
crash at each request are restarted with a delay; then requests fail for want of a worker.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

from vixio.core.backoff import Backoff
from vixio.core.cores import own_cores
from vixio.core.errors import REQUEST, ProviderError
from vixio.core.framing import Frame
from vixio.core.tasks import undisturbed
from vixio.providers.espeak_process.messages import CRASHED, MAX_PAYLOAD, MODULE, NAME, Kind, Voice
from vixio.providers.inference.audio_queue import AudioQueue
from vixio.providers.inference.workers import (
    WorkerClient,
    WorkerPool,
    WorkerProcess,
    WorkerProgram,
)

PROGRAM: Final = WorkerProgram(
    provider=NAME,
    module=MODULE,
    kinds=Kind,
    ready=Kind.READY,
    unusable=Kind.UNUSABLE,
    max_payload=MAX_PAYLOAD,
    quiet=True,
    unusable_reason="not_ready",
)

START_SECONDS: Final = 30.0
"""A cold disk and a busy machine included; it takes 0.1 s otherwise."""

SILENT_SECONDS: Final = 10.0
"""A worker that has requests and has sent nothing for so long is killed when one is cancelled."""


class Request(AudioQueue):
    """A request and its answer as it comes."""

    def __init__(
        self, kind: Kind, voices: Sequence[Voice], text: str = "", *, pause_after: bool = False
    ) -> None:
        """``voices``: the first that exists is used. ``pause_after``: as between sentences."""
        super().__init__()
        self.kind = kind
        self.body: dict[str, Any] = {"voices": voices, "text": text, "pause_after": pause_after}


class SpeechWorker(WorkerClient[Kind]):
    """One process and the requests that it has, which it serves in their order."""

    def __init__(self, process: WorkerProcess[Kind]) -> None:
        super().__init__(process)
        self._requests: OrderedDict[int, Request] = OrderedDict()
        self._numbers = itertools.count(1)
        self._heard = time.monotonic()
        self.sample_rate: int = process.about["sample_rate"]

    @classmethod
    async def start(cls) -> SpeechWorker:
        """Start a process and wait until it is ready. Raises ProviderError."""
        return cls(await WorkerProcess.start(PROGRAM, "", START_SECONDS))

    @property
    def load(self) -> int:
        """Requests that it has not completed."""
        return len(self._requests)

    def submit(self, request: Request) -> None:
        """Queue ``request`` behind those that the process has."""
        if not self._requests:
            self._heard = time.monotonic()
        number = next(self._numbers)
        self._requests[number] = request
        self.process.send(request.kind, number, request.body)

    def cancel(self, request: Request) -> bool:
        """Stop the work on ``request``; whether it was this worker's.

        A process that is stuck in it is killed, which :meth:`run` notices.
        """
        for number, each in self._requests.items():
            if each is request:
                self.process.send(Kind.CANCEL, number)
                if time.monotonic() - self._heard > SILENT_SECONDS:
                    self.process.kill()
                return True
        return False

    def take_requests(self) -> list[Request]:
        """Return the requests that an ended process has left, the one that it was serving first."""
        left = list(self._requests.values())
        self._requests.clear()
        return left

    def take(self, frame: Frame[Kind]) -> None:
        """Hand an answer to its request. Raises ValueError if there is no such request."""
        self._heard = time.monotonic()
        request = self._requests.get(frame.stream)
        if request is None:
            raise ValueError(f"an answer to the unknown request {frame.stream}")
        if frame.kind is Kind.DATA:
            request.add(frame.payload)
            return
        del self._requests[frame.stream]
        self.proven = True
        if frame.kind is Kind.FAILED:
            request.finish(ProviderError(NAME, frame.json()["message"], retryable=False))
        else:
            request.finish()


_RESTART: Final = Backoff(first=0.25, longest=5.0, immediate=1)


class EspeakPool(WorkerPool[SpeechWorker]):
    """The workers, and the requests that wait for one."""

    def __init__(self, size: int | None = None) -> None:
        """``size``: workers; two by default, or one on a single core."""
        super().__init__(NAME, SpeechWorker.start, size or min(2, own_cores()), _RESTART)
        self._waiting: deque[Request] = deque()
        self._outage: ProviderError | None = None
        """Set while no worker is ready and none is being started."""
        self.sample_rate = 0
        """Of the PCM, in Hz; known after :meth:`start`."""

    async def missing(self, voices: Iterable[Voice]) -> list[str]:
        """Return the names among ``voices`` that do not exist. Raises ProviderError."""
        request = Request(Kind.MISSING, list(voices))
        self.submit(request)
        names: list[str] = json.loads(await request.all())
        return names

    async def voices(self) -> list[tuple[str, str, str]]:
        """Return all voices: name, language tag, name for people. Raises ProviderError."""
        request = Request(Kind.VOICES, [])
        self.submit(request)
        return [(name, tag, about) for name, tag, about in json.loads(await request.all())]

    def submit(self, request: Request) -> None:
        """Hand ``request`` to a worker; it waits while all workers are being replaced."""
        if self.workers:
            min(self.workers, key=lambda worker: worker.load).submit(request)
        elif self._outage is not None:
            request.finish(self._outage)
        else:
            self._waiting.append(request)

    def cancel(self, request: Request) -> None:
        """Stop the work on ``request``. Its worker goes on with the next one."""
        request.cancel()
        if not request.done:
            _ = any(worker.cancel(request) for worker in self.workers)

    def on_ready(self, worker: SpeechWorker) -> None:
        """Hand out the requests that wait."""
        self.sample_rate = worker.sample_rate
        self._outage = None
        waiting, self._waiting = self._waiting, deque()
        for request in waiting:
            if not request.cancelled:
                self.submit(request)

    def on_end(self, worker: SpeechWorker) -> None:
        """Fail the request that the worker was serving, and hand its others to another worker."""
        requests = worker.take_requests()
        for served in requests[:1]:
            served.finish(ProviderError(NAME, CRASHED, reason=REQUEST))
        for request in requests[1:]:
            if request.cancelled:
                request.finish()
            else:
                self.submit(request)

    def on_delay(self, seconds: float) -> None:
        """Fail the requests that wait, if no worker is left for them."""
        if self.workers:
            return
        self._outage = ProviderError(
            NAME, "its process does not start", reason="service", retry_after=seconds
        )
        for request in self._waiting:
            request.finish(self._outage)
        self._waiting.clear()

    async def close(self) -> None:
        """End all workers; their requests fail. Idempotent."""
        workers = self.workers
        await super().close()
        closed = ProviderError(NAME, "the provider is closed", retryable=False)
        for request in (*self._waiting, *(each for it in workers for each in it.take_requests())):
            request.finish(closed)
        self._waiting.clear()


class _Shared:
    """The pool of one event loop, and how many providers hold it or wait for it."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.pool: EspeakPool | None = None
        self.holders = 0


_SHARED: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, _Shared]] = WeakKeyDictionary()


async def acquire() -> EspeakPool:
    """Return the event loop's pool, which its first holder starts. Raises ProviderError.

    Each call needs one :func:`release`.
    """
    shared = _SHARED.setdefault(asyncio.get_running_loop(), _Shared())
    shared.holders += 1
    try:
        async with shared.lock:
            if shared.pool is None:
                pool = EspeakPool()
                await pool.start()
                shared.pool = pool
            return shared.pool
    except BaseException:
        shared.holders -= 1
        raise


async def release() -> None:
    """Undo one :func:`acquire`; the last one ends the workers, also if it is cancelled."""
    await undisturbed(_release())


async def _release() -> None:
    shared = _SHARED[asyncio.get_running_loop()]
    shared.holders -= 1
    async with shared.lock:
        if not shared.holders and shared.pool is not None:
            pool, shared.pool = shared.pool, None
            await pool.close()

"""The worker processes that all eSpeak NG voices of a server share.

A request goes to the worker with the fewest. When a worker ends, the request that it was serving
fails and its other requests go to the next worker, so one crash costs one sentence. Workers that
crash at each request are restarted with a delay; then requests fail for want of a worker.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Iterable
from typing import Final
from weakref import WeakKeyDictionary

from vixio.core.backoff import Backoff
from vixio.core.cores import own_cores
from vixio.core.errors import REQUEST, ProviderError
from vixio.core.tasks import undisturbed
from vixio.providers.espeak_process.messages import CRASHED, NAME, Kind, Voice
from vixio.providers.espeak_process.speech import Request, SpeechWorker
from vixio.providers.inference.worker_pool import WorkerPool

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

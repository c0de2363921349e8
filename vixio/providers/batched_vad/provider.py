"""The base class of VAD providers with one network per process, and the stream of one device."""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from collections.abc import Sequence
from heapq import heappop, heappush

from pydantic import BaseModel, ConfigDict, Field

from vixio.core.audio import BYTES_PER_SAMPLE
from vixio.core.errors import ProviderError, as_provider_error
from vixio.providers.batched_vad.worker import BatchWorker, Job, Lane, WindowModel
from vixio.providers.vad import VADProvider, VADStream

_log = logging.getLogger(__name__)


class BatchSettings(BaseModel):
    """Options of every provider of this kind."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_batch: int = Field(default=128, ge=1, le=1024)
    """Maximum number of windows in one call."""
    gather_ms: float = Field(default=10.0, ge=0.0, le=32.0)
    """Minimum interval of batches while several devices send; the longest wait it adds."""


class BatchedVADProvider(VADProvider):
    """One network for all devices of the event loop that started it.

    A vendor's class defines ``name``, ``window_samples`` and :meth:`load`.
    """

    def __init__(self, settings: BatchSettings) -> None:
        self._batch = settings
        self._worker: BatchWorker | None = None
        self._starting = asyncio.Lock()
        self._closed = False
        self._pending: set[asyncio.Future[list[float]]] = set()
        self._slots = 0
        self._free: list[int] = []

    @abstractmethod
    def load(self) -> WindowModel:
        """Return the network, warmed up. Called in a thread. Raises ProviderUnavailable."""

    async def start(self) -> None:
        """Load the network in a thread. Raises ProviderUnavailable."""
        async with self._starting:
            if self._closed:
                raise ProviderError(self.name, "the provider is closed", retryable=False)
            if self._worker is not None:
                return
            self._worker = BatchWorker(
                await asyncio.to_thread(self.load),
                asyncio.get_running_loop(),
                max_batch=self._batch.max_batch,
                interval=self._batch.gather_ms / 1000,
            )
        _log.debug("VAD loaded", extra={"provider": self.name})

    def open(self) -> BatchedVADStream:
        """Return a new stream. It may be opened before :meth:`start`, and used after it."""
        if self._closed:
            raise ProviderError(self.name, "the provider is closed", retryable=False)
        return BatchedVADStream(self)

    async def close(self) -> None:
        """Stop the worker thread. Pending windows fail. Idempotent."""
        self._closed = True
        async with self._starting:  # a start in progress leaves nothing behind
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.stop()
        for future in self._pending:
            if not future.done():
                future.set_exception(
                    ProviderError(self.name, "the provider is closed", retryable=False)
                )
        if worker is not None:
            await worker.join(None)

    def take_slot(self) -> int:
        """Return the lowest free slot of the model's state, which keeps the state small."""
        if self._free:
            return heappop(self._free)
        self._slots += 1
        return self._slots - 1

    def release(self, lane: Lane) -> None:
        """Free a lane's slot. The next owner's first job resets its state."""
        lane.closed = True
        if self._worker is not None:
            self._worker.submit(lane)
        heappush(self._free, lane.slot)

    async def run(self, lane: Lane, pcm: bytes, *, forget: bool) -> list[float]:
        """Run whole windows of ``lane`` after those that it already waits for.

        Does not suspend the caller where the worker runs them on the event loop.
        """
        if self._worker is None:
            state = "closed" if self._closed else "not started"
            raise ProviderError(self.name, f"it is {state}", retryable=False)
        try:
            answer = self._worker.run_here(lane, pcm, forget=forget)
        except Exception as error:  # any of the runtime
            raise as_provider_error(self.name, error, "inference") from error
        if answer is not None:
            return answer
        future: asyncio.Future[list[float]] = asyncio.get_running_loop().create_future()
        self._pending.add(future)
        try:
            self._worker.submit(Job(lane, pcm, future, forget=forget))
            return await future
        finally:
            self._pending.discard(future)


class BatchedVADStream(VADStream):
    """One device's incomplete window, and its lane in the worker."""

    def __init__(self, provider: BatchedVADProvider) -> None:
        self._provider = provider
        self._window_bytes = provider.window_samples * BYTES_PER_SAMPLE
        self._lane = Lane(provider.take_slot())
        self._rest = b""
        self._fresh = True

    async def process(self, pcm: bytes) -> Sequence[float]:
        """Return the speech probability of each window that ``pcm`` completes.

        Calls may overlap; each returns the windows that it completed. The windows of a cancelled
        call are run as well, so the state includes them. Raises ProviderError.
        """
        if self._lane.closed:
            raise ProviderError(self._provider.name, "the stream is closed", retryable=False)
        if self._rest:
            pcm = self._rest + pcm
        whole = len(pcm) - len(pcm) % self._window_bytes
        self._rest = pcm[whole:]
        if not whole:
            return ()
        fresh, self._fresh = self._fresh, False
        return await self._provider.run(self._lane, pcm[:whole], forget=fresh)

    def reset(self) -> None:
        """Reset audio and state. Calls in progress still use the previous state."""
        self._rest = b""
        self._fresh = True

    def close(self) -> None:
        """Free the slot. Calls in progress fail."""
        if not self._lane.closed:
            self._provider.release(self._lane)

"""A VAD provider over a network that the process shares, and one device's stream of it."""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from collections.abc import Sequence
from heapq import heappop, heappush

from pydantic import BaseModel, ConfigDict, Field

from vixio.core.audio import BYTES_PER_SAMPLE
from vixio.core.errors import ProviderError
from vixio.providers.batched_vad.worker import BatchWorker, Job, Lane, WindowModel
from vixio.providers.vad import VADProvider, VADStream

_log = logging.getLogger(__name__)


class BatchSettings(BaseModel):
    """Options that every provider of this kind has."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_batch: int = Field(default=128, ge=1, le=1024)
    """Windows in one call, at most."""
    gather_ms: float = Field(default=10.0, ge=0.0, le=32.0)
    """Least time between batches while several devices talk; what it can add to a window's wait."""


class BatchedVADProvider(VADProvider):
    """The network shared by all devices of the event loop that started it.

    A vendor's class says ``name``, ``window_samples`` and :meth:`load`.
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
                raise ProviderError(self.name, "it is closed", retryable=False)
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
        """Return a fresh detector. May be called before :meth:`start`, but not be fed."""
        if self._closed:
            raise ProviderError(self.name, "it is closed", retryable=False)
        return BatchedVADStream(self)

    async def close(self) -> None:
        """End the worker thread; pending windows fail. Idempotent."""
        self._closed = True
        async with self._starting:  # a start in progress leaves nothing behind
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.stop()
        for future in self._pending:
            if not future.done():
                future.set_exception(ProviderError(self.name, "it is closed", retryable=False))
        if worker is not None:
            await worker.join(None)

    def take_slot(self) -> int:
        """Return the lowest free place in the model's memory, so that it stays small."""
        if self._free:
            return heappop(self._free)
        self._slots += 1
        return self._slots - 1

    def release(self, lane: Lane) -> None:
        """Give a lane's place back. The next owner's first job begins with a fresh state."""
        lane.closed = True
        if self._worker is not None:
            self._worker.submit(lane)
        heappush(self._free, lane.slot)

    async def run(self, lane: Lane, pcm: bytes, *, forget: bool) -> list[float]:
        """Run whole windows of ``lane`` behind all that it already waits for."""
        if self._worker is None:
            state = "closed" if self._closed else "not started"
            raise ProviderError(self.name, f"it is {state}", retryable=False)
        future: asyncio.Future[list[float]] = asyncio.get_running_loop().create_future()
        self._pending.add(future)
        try:
            self._worker.submit(Job(lane, pcm, future, forget=forget))
            return await future
        finally:
            self._pending.discard(future)


class BatchedVADStream(VADStream):
    """One device's audio that does not fill a window yet, and its place in the worker."""

    def __init__(self, provider: BatchedVADProvider) -> None:
        self._provider = provider
        self._window_bytes = provider.window_samples * BYTES_PER_SAMPLE
        self._lane = Lane(provider.take_slot())
        self._rest = b""
        self._fresh = True

    async def process(self, pcm: bytes) -> Sequence[float]:
        """Return the speech probability of each window that ``pcm`` completes.

        Calls may overlap; each gets the windows that it completed. A cancelled call's windows are
        run all the same, so the detector has heard them. Raises ProviderError.
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
        """Forget all audio and state; calls that are still waiting are answered from before."""
        self._rest = b""
        self._fresh = True

    def close(self) -> None:
        """Release the place; calls that are still waiting fail."""
        if not self._lane.closed:
            self._provider.release(self._lane)

"""Silero as a VAD provider."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from heapq import heappop, heappush

from loguru import logger
from pydantic import BaseModel, ConfigDict, Field

from vixio.core.errors import ProviderError
from vixio.providers.registry import ProviderFactory
from vixio.providers.silero_vad.model import (
    NAME,
    WINDOW,
    WINDOW_BYTES,
    SileroModel,
    find_model,
)
from vixio.providers.silero_vad.worker import BatchWorker, Job, Lane
from vixio.providers.vad import VADProvider, VADStream


class SileroSettings(BaseModel):
    """Options of the section ``vad`` when its name is ``silero``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_batch: int = Field(default=128, ge=1, le=1024)
    """Windows in one call, at most. A batch of 128 takes about 3.5 ms."""
    gather_ms: float = Field(default=10.0, ge=0.0, le=32.0)
    """Least time between batches while several devices talk; what it can add to a window's wait."""


class SileroVADProvider(VADProvider):
    """The network shared by all devices of the event loop that started it."""

    name = NAME
    window_samples = WINDOW

    def __init__(self, settings: SileroSettings | None = None) -> None:
        self._settings = settings or SileroSettings()
        self._worker: BatchWorker | None = None
        self._starting = asyncio.Lock()
        self._closed = False
        self._pending: set[asyncio.Future[list[float]]] = set()
        self._slots = 0
        self._free: list[int] = []

    async def start(self) -> None:
        """Load the network in a thread. Raises ProviderUnavailable."""
        async with self._starting:
            if self._closed:
                raise ProviderError(NAME, "it is closed", retryable=False)
            if self._worker is not None:
                return
            model = await asyncio.to_thread(_load, self._settings.max_batch)
            self._worker = BatchWorker(
                model,
                asyncio.get_running_loop(),
                max_batch=self._settings.max_batch,
                interval=self._settings.gather_ms / 1000,
            )
        logger.bind(provider=NAME).debug("VAD loaded")

    def open(self) -> SileroVADStream:
        """Return a fresh detector. May be called before :meth:`start`, but not be fed."""
        if self._closed:
            raise ProviderError(NAME, "it is closed", retryable=False)
        return SileroVADStream(self)

    async def close(self) -> None:
        """End the worker thread; pending windows fail. Idempotent."""
        self._closed = True
        async with self._starting:  # a start in progress leaves nothing behind
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.stop()
        for future in self._pending:
            if not future.done():
                future.set_exception(ProviderError(NAME, "it is closed", retryable=False))
        if worker is not None:
            await worker.join()

    def take_slot(self) -> int:
        """Return the lowest free place in the model's arrays, so that they stay small."""
        if self._free:
            return heappop(self._free)
        self._slots += 1
        return self._slots - 1

    def release_slot(self, slot: int) -> None:
        """Give a place back. The next owner's first job begins with a fresh state."""
        heappush(self._free, slot)

    async def run(self, lane: Lane, pcm: bytes, *, forget: bool) -> list[float]:
        """Run whole windows of ``lane`` behind all that it already waits for."""
        if self._worker is None:
            state = "closed" if self._closed else "not started"
            raise ProviderError(NAME, f"it is {state}", retryable=False)
        future: asyncio.Future[list[float]] = asyncio.get_running_loop().create_future()
        self._pending.add(future)
        try:
            self._worker.submit(Job(lane, pcm, future, forget=forget))
            return await future
        finally:
            self._pending.discard(future)


class SileroVADStream(VADStream):
    """One device's audio that does not fill a window yet, and its place in the worker."""

    def __init__(self, provider: SileroVADProvider) -> None:
        self._provider = provider
        self._lane = Lane(provider.take_slot())
        self._rest = b""
        self._fresh = True

    async def process(self, pcm: bytes) -> Sequence[float]:
        """Return the speech probability of each 32 ms window that ``pcm`` completes.

        Calls may overlap; each gets the windows that it completed. A cancelled call's windows are
        run all the same, so the detector has heard them. Raises ProviderError.
        """
        if self._lane.closed:
            raise ProviderError(NAME, "the stream is closed", retryable=False)
        if self._rest:
            pcm = self._rest + pcm
        whole = len(pcm) - len(pcm) % WINDOW_BYTES
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
            self._lane.closed = True
            self._provider.release_slot(self._lane.slot)


def _load(max_batch: int) -> SileroModel:
    model = SileroModel(find_model(), max_batch)
    # The first run allocates; a device should not wait for it.
    model.forget(0)
    model.run([0], [bytes(WINDOW_BYTES)])
    return model


def _create(settings: SileroSettings) -> SileroVADProvider:
    return SileroVADProvider(settings)


FACTORY = ProviderFactory(settings_model=SileroSettings, create=_create)

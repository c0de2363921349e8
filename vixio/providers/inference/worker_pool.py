"""Keeps worker processes running: starts them, replaces those that end, with back-off.

A worker that ends without having completed any work since its start counts as a failed attempt, so
a worker that crashes at each request is not restarted in a tight loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Generic, Protocol, TypeVar

from vixio.core.backoff import Backoff
from vixio.core.errors import ProviderError, as_provider_error
from vixio.core.messages import LOADING
from vixio.core.tasks import cancel_and_wait, undisturbed

_log = logging.getLogger(__name__)

RESTART: Final = Backoff(first=0.5, longest=5.0, factor=3.0, immediate=1)


class Worker(Protocol):
    """A worker process that is ready for work."""

    @property
    def pid(self) -> int:
        """Process id."""

    @property
    def exit_code(self) -> int | None:
        """As of ``subprocess``: negative for a signal; None while it runs."""

    @property
    def proven(self) -> bool:
        """Whether it has completed any work since its start."""

    async def run(self) -> None:
        """Take what it sends until it ends. Raises ValueError for a malformed message."""

    async def stop(self, *, kill: bool = False) -> None:
        """End it. Idempotent, never raises."""


WorkerT = TypeVar("WorkerT", bound=Worker)


class WorkerPool(Generic[WorkerT]):
    """Keeps ``size`` workers running."""

    def __init__(
        self,
        name: str,
        launch: Callable[[], Awaitable[WorkerT]],
        size: int = 1,
        backoff: Backoff = RESTART,
    ) -> None:
        """``launch`` starts a worker and waits until it is ready. It raises ProviderError."""
        self._name = name
        self._launch = launch
        self._size = size
        self._backoff = backoff
        self._ready: list[WorkerT] = []
        self._changed = asyncio.Event()
        self._keepers: list[asyncio.Task[None]] = []
        self._closed = False
        self._trouble: ProviderError | None = None
        self.restarts = 0
        """Workers that were replaced since the start."""

    @property
    def workers(self) -> tuple[WorkerT, ...]:
        """Workers that are ready now."""
        return tuple(self._ready)

    @property
    def outage(self) -> ProviderError | None:
        """Why no worker is ready, since :meth:`start`; None if one is."""
        return None if self._ready else self._trouble

    async def start(self) -> None:
        """Start all workers. Raises ProviderError if the first attempt fails for any."""
        starts = [asyncio.ensure_future(self._launch()) for _ in range(self._size)]
        try:
            workers = await asyncio.gather(*starts)
        except BaseException:
            await undisturbed(_given_up(starts))
            raise
        self._keepers = [asyncio.create_task(self._keep(worker)) for worker in workers]
        for worker in workers:
            self._add(worker)

    async def ready(self) -> bool:
        """Wait until at least one worker is ready; false if the pool is closed."""
        while not self._ready and not self._closed:
            self._changed.clear()
            await self._changed.wait()
        return bool(self._ready)

    async def close(self) -> None:
        """End all workers. Idempotent."""
        self._closed = True
        self._changed.set()
        workers = self.workers  # a task that is cancelled before it first ran stops no worker
        keepers, self._keepers = self._keepers, []
        for keeper in keepers:
            keeper.cancel()
        await asyncio.gather(*keepers, return_exceptions=True)
        self._ready.clear()
        await asyncio.gather(*(worker.stop() for worker in workers))

    def on_ready(self, worker: WorkerT) -> None:
        """Use a worker that has become ready."""

    def on_end(self, worker: WorkerT) -> None:
        """Handle the work of a worker that has ended."""

    def on_delay(self, seconds: float) -> None:
        """Handle that the next attempt to replace a worker is ``seconds`` away."""

    def _add(self, worker: WorkerT) -> None:
        self._ready.append(worker)
        self._trouble = None
        self._changed.set()
        self.on_ready(worker)

    async def _keep(self, worker: WorkerT) -> None:
        """Keep one place of the pool filled, until cancelled."""
        failures = 0
        try:
            while True:
                await self._watch(worker)
                failures = 1 if worker.proven else failures + 1
                worker, failures = await self._replace(failures)
                self.restarts += 1
                self._add(worker)
        finally:
            if worker in self._ready:
                self._ready.remove(worker)
            await worker.stop()

    async def _watch(self, worker: WorkerT) -> None:
        """Run a worker until it ends."""
        try:
            await worker.run()
        except ValueError as error:
            _log.warning(
                "malformed message from worker process",
                extra={"provider": self._name, "pid": worker.pid, "error": str(error)},
            )
        self._ready.remove(worker)
        self._trouble = ProviderError(self._name, "its process is being replaced", reason=LOADING)
        await worker.stop(kill=True)
        _log.warning(
            "worker process ended, starting another",
            extra={"provider": self._name, "pid": worker.pid, "exit_code": worker.exit_code},
        )
        self.on_end(worker)

    async def _replace(self, failures: int) -> tuple[WorkerT, int]:
        """Return a new worker and the failures in a row before it."""
        while True:
            if delay := self._backoff.delay(failures):
                self.on_delay(delay)
                await asyncio.sleep(delay)
            try:
                return await self._launch(), failures
            except (ProviderError, OSError) as error:
                failures += 1
                self._trouble = as_provider_error(self._name, error)
                _log.error(
                    "worker process did not start",
                    extra={"provider": self._name, "error": str(error), "failures": failures},
                )


async def _given_up(starts: Sequence[asyncio.Task[WorkerT]]) -> None:
    """Cancel the starts, and stop the workers that had started."""
    await cancel_and_wait(*starts)
    for start in starts:
        if not start.cancelled() and start.exception() is None:
            await start.result().stop()

"""Worker processes as the server sees them: their start, messages and end, and a pool of them.

One exchanges frames over a socket pair that is its standard input and output, and ends when that is
closed, so it cannot outlive the server. A pool replaces those that end, with back-off: one that has
completed no work since its start counts as a failed attempt, so one that crashes at each request is
not restarted in a tight loop.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from vixio.core.backoff import Backoff
from vixio.core.children import command, environment
from vixio.core.errors import ProviderError, ProviderTimeout, ProviderUnavailable, as_provider_error
from vixio.core.framing import Frame, FrameReader, KindT, pack
from vixio.core.messages import LOADING
from vixio.core.tasks import cancel_and_wait, undisturbed

_STOP_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class WorkerProgram(Generic[KindT]):
    """The module that a worker runs, and the frames by which it reports its start."""

    provider: str
    """Named in errors."""
    module: str
    kinds: type[KindT]
    ready: KindT
    """The model is loaded. JSON, if any, describes it."""
    unusable: KindT
    """JSON ``message``: why the model cannot be loaded; ``retryable``: whether it may be later.
    The process ends."""
    max_payload: int
    quiet: bool = False
    """Whether its standard error is discarded."""
    unusable_reason: str = "no_model"
    """Key of :data:`~vixio.core.messages.REASONS` for a process that is unusable for good."""

    def ended(self) -> ProviderError:
        """Return the error of work whose process has ended."""
        return ProviderError(self.provider, "the worker process ended")


class WorkerProcess(Generic[KindT]):
    """One process; it ends when :meth:`stop` closes its input, or by itself."""

    def __init__(
        self,
        program: WorkerProgram[KindT],
        process: subprocess.Popen[bytes],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._program = program
        self._process = process
        self._frames = FrameReader(reader, program.kinds, program.max_payload)
        self._writer = writer
        self.about: dict[str, Any] = {}
        """Its description of its model."""

    @classmethod
    async def start(
        cls, program: WorkerProgram[KindT], argument: str, seconds: float
    ) -> WorkerProcess[KindT]:
        """Start it and wait until its model is loaded, no longer than ``seconds``.

        Raises ProviderError.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            # In a thread: starting a process takes milliseconds.
            spawning = asyncio.create_task(asyncio.to_thread(spawn, program, argument, theirs))
            try:
                popen = await asyncio.shield(spawning)
            except BaseException:
                ours.close()
                await undisturbed(_end_spawned(spawning))
                raise
        ours.setblocking(False)
        try:
            streams = await asyncio.open_connection(sock=ours)
        except BaseException:
            ours.close()
            await undisturbed(_end(popen))
            raise
        process = cls(program, popen, *streams)
        try:
            async with asyncio.timeout(seconds):
                await process._greeting()
        except TimeoutError:
            await process.stop(kill=True)
            raise ProviderTimeout(program.provider, "loaded model", seconds) from None
        except BaseException:
            await process.stop(kill=True)
            raise
        return process

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """As of ``subprocess``: negative for a signal; None while it runs."""
        return self._process.returncode

    @property
    def waiting(self) -> int:
        """Bytes that were sent and that it has not read yet, beyond what the pipe holds."""
        return self._writer.transport.get_write_buffer_size()

    def send(self, kind: KindT, number: int = 0, payload: bytes | dict[str, Any] = b"") -> None:
        """Write a frame; has no effect if the process has ended, which :meth:`run` notices."""
        if not self._writer.is_closing():
            self._writer.write(pack(kind, number, payload))

    async def drain(self) -> None:
        """Wait while the pipe is full. Raises ProviderError if the process has ended."""
        try:
            await self._writer.drain()
        except (ConnectionError, RuntimeError) as error:
            raise self._program.ended() from error

    async def run(self, take: Callable[[Frame[KindT]], None]) -> None:
        """Hand its frames to ``take`` until it ends. Raises ValueError for a malformed one."""
        while (frame := await self._frames.read()) is not None:
            take(frame)

    def kill(self) -> None:
        """End it at once; :meth:`run` returns."""
        self._process.kill()  # has no effect on a process that has ended

    async def stop(self, *, kill: bool = False) -> None:
        """End it: by closing its input, by force if that does not help. Not during :meth:`run`.

        Idempotent, never raises; it has ended also if the caller is cancelled.
        """
        await undisturbed(self._stop(kill))

    async def _stop(self, kill: bool) -> None:
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
        program = self._program
        while (frame := await self._frames.read()) is not None:
            if frame.kind is program.unusable:
                answer = frame.json()
                if answer.get("retryable"):
                    raise ProviderError(program.provider, answer["message"], reason="unreachable")
                raise ProviderUnavailable(
                    program.provider, answer["message"], reason=program.unusable_reason
                )
            if frame.kind is program.ready:
                self.about = frame.json() if frame.payload else {}
                return
        raise ProviderError(
            program.provider, "the process ended while it loaded the model", reason="not_ready"
        )


class WorkerClient(ABC, Generic[KindT]):
    """A worker process with the work that it has. A vendor's class takes its frames."""

    def __init__(self, process: WorkerProcess[KindT]) -> None:
        self.process = process
        self.proven = False
        """Whether it has completed any work since its start; set by :meth:`take`."""

    @property
    def pid(self) -> int:
        """Process id."""
        return self.process.pid

    @property
    def exit_code(self) -> int | None:
        """As of ``subprocess``: negative for a signal; None while it runs."""
        return self.process.exit_code

    async def run(self) -> None:
        """Take its frames until it ends. Raises ValueError for a malformed one."""
        await self.process.run(self.take)

    async def stop(self, *, kill: bool = False) -> None:
        """End the process. Idempotent, never raises."""
        await self.process.stop(kill=kill)

    @abstractmethod
    def take(self, frame: Frame[KindT]) -> None:
        """Handle one frame. Raises ValueError for a malformed one."""


def spawn(
    program: WorkerProgram[Any], argument: str, channel: socket.socket
) -> subprocess.Popen[bytes]:
    """Start the process with ``channel`` as its standard input and output. Blocking."""
    # A session of its own: a Ctrl-C at the terminal is for the server to handle.
    return subprocess.Popen(  # noqa: S603 - this interpreter, our module, our own JSON
        command(program.module, argument),
        stdin=channel.fileno(),
        stdout=channel.fileno(),
        stderr=subprocess.DEVNULL if program.quiet else None,
        env=environment(),
        start_new_session=True,
    )


async def _end_spawned(spawning: asyncio.Task[subprocess.Popen[bytes]]) -> None:
    with suppress(OSError):  # it did not start
        await _end(await spawning)


async def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process that has no connection."""
    process.kill()
    await asyncio.to_thread(process.wait)


_log = logging.getLogger(__name__)

RESTART: Final = Backoff(first=0.5, longest=5.0, factor=3.0, immediate=1)


WorkerT = TypeVar("WorkerT", bound=WorkerClient[Any])


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

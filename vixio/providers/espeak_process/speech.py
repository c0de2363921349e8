"""A worker process with eSpeak NG, and a request on its way through it, on the event loop."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import Any, Final

from vixio.core.errors import ProviderError
from vixio.core.framing import Frame
from vixio.providers.espeak_process.wire import MAX_PAYLOAD, MODULE, NAME, Kind, Voice
from vixio.providers.model_process import ModelProcess, Program

PROGRAM: Final = Program(
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


class Request:
    """A request and its answer as it comes."""

    def __init__(
        self, kind: Kind, voices: Sequence[Voice], text: str = "", *, pause_after: bool = False
    ) -> None:
        """``voices``: the first that exists is used. ``pause_after``: as between sentences."""
        self.kind = kind
        self.body: dict[str, Any] = {"voices": voices, "text": text, "pause_after": pause_after}
        self.cancelled = False
        self._chunks: deque[bytes] = deque()
        self._ended = False
        self._error: ProviderError | None = None
        self._changed = asyncio.Event()

    @property
    def done(self) -> bool:
        """Whether nothing more will come."""
        return self._ended

    async def next(self) -> bytes | None:
        """Return the next data, None at the end. Raises ProviderError."""
        while not self._chunks:
            if self._error is not None:
                raise self._error
            if self._ended:
                return None
            self._changed.clear()
            await self._changed.wait()
        return self._chunks.popleft()

    async def all(self) -> bytes:
        """Return all data. Raises ProviderError."""
        chunks: list[bytes] = []
        while (chunk := await self.next()) is not None:
            chunks.append(chunk)
        return b"".join(chunks)

    def add(self, data: bytes) -> None:
        """Take data from the worker; what comes after a cancellation is dropped."""
        if not self.cancelled:
            self._chunks.append(data)
            self._changed.set()

    def drop(self) -> None:
        """Give the answer up, and forget what there is of it."""
        self.cancelled = True
        self._chunks.clear()

    def finish(self, error: ProviderError | None = None) -> None:
        """Note that nothing more will come."""
        if not self._ended:
            self._ended = True
            self._error = error
            self._changed.set()


class SpeechWorker:
    """One process and the requests that it has, which it serves in their order."""

    def __init__(self, process: ModelProcess[Kind]) -> None:
        self._process = process
        self._requests: OrderedDict[int, Request] = OrderedDict()
        self._numbers = itertools.count(1)
        self._heard = time.monotonic()
        self.proven = False
        self.sample_rate: int = process.about["sample_rate"]

    @classmethod
    async def start(cls) -> SpeechWorker:
        """Start a process and wait until it is ready. Raises ProviderError."""
        return cls(await ModelProcess.start(PROGRAM, "", START_SECONDS))

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """As of ``subprocess``: negative for a signal; None while it runs."""
        return self._process.exit_code

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
        self._process.send(request.kind, number, request.body)

    def cancel(self, request: Request) -> bool:
        """Stop the work on ``request``; whether it was this worker's.

        A process that is stuck in it is killed, which :meth:`run` notices.
        """
        for number, each in self._requests.items():
            if each is request:
                self._process.send(Kind.CANCEL, number)
                if time.monotonic() - self._heard > SILENT_SECONDS:
                    self._process.kill()
                return True
        return False

    def take_requests(self) -> list[Request]:
        """Return the requests that an ended process has left, the one that it was serving first."""
        left = list(self._requests.values())
        self._requests.clear()
        return left

    async def run(self) -> None:
        """Hand answers out until the process ends. Raises ValueError for a malformed message."""
        await self._process.run(self._take)

    async def stop(self, *, kill: bool = False) -> None:
        """End the process. Idempotent, never raises."""
        await self._process.stop(kill=kill)

    def _take(self, frame: Frame[Kind]) -> None:
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

"""A worker process with eSpeak NG, and a request on its way through it, on the event loop."""

from __future__ import annotations

import itertools
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Final

from vixio.core.errors import ProviderError
from vixio.core.framing import Frame
from vixio.providers.espeak_process.messages import MAX_PAYLOAD, MODULE, NAME, Kind, Voice
from vixio.providers.inference.audio_queue import AudioQueue
from vixio.providers.inference.worker_process import (
    WorkerClient,
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

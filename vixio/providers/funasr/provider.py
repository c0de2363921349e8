"""FunASR as an ASR provider: one worker process with one model, shared by all devices."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import re
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict
from importlib.util import find_spec
from typing import Any, Final

from vixio.core.backoff import Backoff
from vixio.core.errors import ProviderError, ProviderTimeout, ProviderUnavailable
from vixio.core.extras import how_to_install
from vixio.core.framing import Frame
from vixio.core.tools.types import ToolDefinition
from vixio.providers.asr import ASRProvider, SpeechHints
from vixio.providers.funasr.messages import MAX_PAYLOAD, NAME, Kind
from vixio.providers.funasr.settings import FunASRSettings
from vixio.providers.funasr.stream import FunASRStream
from vixio.providers.inference.workers import (
    WorkerClient,
    WorkerPool,
    WorkerProcess,
    WorkerProgram,
)
from vixio.providers.registry import ProviderFactory
from vixio.providers.tool_words import MAX_WORDS, tool_words

_log = logging.getLogger(__name__)

PROGRAM: Final = WorkerProgram(
    provider=NAME,
    module="vixio.providers.funasr.worker",
    kinds=Kind,
    ready=Kind.READY,
    unusable=Kind.UNUSABLE,
    max_payload=MAX_PAYLOAD,
    quiet=True,
)

_REPLACED_S: Final = 3.0
"""For which an utterance waits for a process that is being replaced. Most models take longer; then
the user should hear so."""

_RESTART: Final = Backoff(first=1.0, longest=20.0, factor=5.0, immediate=1)


class ModelWorker(WorkerClient[Kind]):
    """The worker process with the model, and the utterances that it serves."""

    def __init__(self, process: WorkerProcess[Kind]) -> None:
        super().__init__(process)
        self._streams: dict[int, FunASRStream] = {}
        self.answered = time.monotonic()
        """Time of the last frame from the process (``time.monotonic``)."""

    def attach(self, stream: FunASRStream) -> None:
        """Deliver the frames of this utterance to ``stream``."""
        self._streams[stream.number] = stream

    def detach(self, stream: FunASRStream) -> None:
        """Drop ``stream``, and cancel its utterance in the process."""
        if self._streams.pop(stream.number, None) is not None:
            self.process.send(Kind.CANCEL, stream.number)

    @property
    def waiting(self) -> int:
        """Number of utterances that have ended and wait for their transcript."""
        return sum(stream.waits for stream in self._streams.values())

    def take(self, frame: Frame[Kind]) -> None:
        """Deliver a frame to its utterance."""
        self.answered = time.monotonic()
        stream = self._streams.get(frame.stream)
        if stream is None:  # cancelled meanwhile
            return
        answer: dict[str, Any] = frame.json()
        if frame.kind is Kind.PARTIAL:
            stream.hear(answer["text"])
            return
        self.proven = True
        del self._streams[frame.stream]
        if frame.kind is Kind.RESULT:
            stream.take(answer["text"], answer["batch"])
        else:
            stream.fail(ProviderError(NAME, answer["message"], retryable=False))

    def fail_all(self, error: ProviderError) -> None:
        """Fail all utterances."""
        streams, self._streams = self._streams, {}
        for stream in streams.values():
            stream.fail(error)


class ModelPool(WorkerPool[ModelWorker]):
    """The pool of one process."""

    def on_end(self, worker: ModelWorker) -> None:
        """Fail the utterances of a process that has ended."""
        worker.fail_all(PROGRAM.ended())


class FunASRProvider(ASRProvider):
    """Sends utterances to the worker process and returns its transcripts."""

    name = NAME

    def __init__(self, settings: FunASRSettings | None = None) -> None:
        """Raises ProviderUnavailable if a package or the model's folder is missing."""
        self.settings = settings or FunASRSettings()
        _check_packages()
        self._worker_settings = self.settings.worker()
        self._pool = ModelPool(NAME, self._launch, backoff=_RESTART)
        self._starting: asyncio.Task[None] | None = None
        self._numbers = itertools.count(1)
        self._closed = False

    @property
    def worker(self) -> ModelWorker | None:
        """The worker, None while none is ready."""
        return next(iter(self._pool.workers), None)

    @property
    def waiting(self) -> int:
        """Number of utterances that have ended and wait for their transcript."""
        return self.worker.waiting if self.worker is not None else 0

    async def start(self) -> None:
        """Load the model, with a download if it is not stored yet. Raises ProviderError."""
        if self._closed:
            raise _closed()
        if self._starting is None or _failed(self._starting):
            self._starting = asyncio.create_task(self._pool.start())
        try:
            await asyncio.shield(self._starting)
        except asyncio.CancelledError:
            if self._starting.cancelled():  # by close(), not by the caller's cancellation
                raise _closed() from None
            raise

    def open(self, hints: SpeechHints) -> FunASRStream:
        """Begin an utterance. Its audio is buffered until the model is loaded."""
        if self._closed:
            raise _closed()
        words = hotwords(self.settings.hotwords, hints.tools)
        return FunASRStream(self, next(self._numbers), words)

    async def close(self) -> None:
        """End the worker process. Open utterances fail. Idempotent."""
        self._closed = True
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        workers = self._pool.workers
        await self._pool.close()
        for worker in workers:
            worker.fail_all(_closed())

    @property
    def outage(self) -> ProviderError | None:
        """Why there is no worker, though there was one; None if there is."""
        return self._pool.outage

    async def get_worker(self) -> ModelWorker:
        """Return the worker, after a moment's wait if it is being replaced. Raises ProviderError.

        Nothing is loaded for an utterance: :meth:`start` loads the model, and the pool loads it
        again in another process when that ends.
        """
        if self._closed:
            raise _closed()
        if self.worker is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_REPLACED_S if self._pool.outage else 0.0):
                    await self._pool.ready()
        if (worker := self.worker) is None:
            if self._closed:
                raise _closed()
            raise self._pool.outage or ProviderError(NAME, "it is not started", reason="not_ready")
        return worker

    def overdue(self, worker: ModelWorker, seconds: float) -> ProviderTimeout:
        """Return the error of an utterance whose transcript timed out after ``seconds``.

        A process that sent nothing in this time is unresponsive: it is killed and replaced.
        """
        if time.monotonic() - worker.answered >= seconds:
            _log.warning("recognition process is unresponsive", extra={"pid": worker.pid})
            worker.process.kill()
        return ProviderTimeout(NAME, "transcript", seconds)

    async def _launch(self) -> ModelWorker:
        settings = self.settings
        _log.info("loading the recognition model", extra={"model": settings.model})
        begun = time.monotonic()
        worker = ModelWorker(
            await WorkerProcess.start(
                PROGRAM, json.dumps(asdict(self._worker_settings)), settings.load_timeout
            )
        )
        seconds = round(time.monotonic() - begun, 1)
        about = worker.process.about
        _log.info("model loaded", extra={"seconds": seconds, "pid": worker.pid, **about})
        if settings.hotwords and not about["hotwords"]:
            _log.warning("model does not support hotwords", extra={"model": settings.model})
        return worker


def _check_packages() -> None:
    # find_spec() does not import the packages: the server's own process never loads them.
    if find_spec("funasr") is None:
        raise ProviderUnavailable(NAME, f"FunASR is missing: {how_to_install('funasr')}")
    if find_spec("torch") is None:
        raise ProviderUnavailable(
            NAME, f"torch is missing, on which FunASR runs: {how_to_install('funasr')}"
        )


def _failed(task: asyncio.Task[None]) -> bool:
    return task.done() and (task.cancelled() or task.exception() is not None)


def _closed() -> ProviderError:
    return ProviderError(NAME, "the provider is closed", retryable=False)


FACTORY = ProviderFactory(
    settings_model=FunASRSettings,
    create=FunASRProvider,
    memory_mb=lambda _: 1_500,  # docs/providers.md has the figures of each model
    languages=FunASRSettings.languages,
)


_WORD: Final = re.compile(r"[^\W\d_]+")
"""Letters only. FunASR reads hotwords that begin with ``http`` as a URL, and hotwords that end in
``.txt`` as a file."""


def hotwords(configured: Iterable[str], tools: Iterable[ToolDefinition]) -> str:
    """Return the ``configured`` words and those of the tools, without duplicates.

    They are separated by spaces: the format of FunASR's argument ``hotword``.
    """
    found: dict[str, None] = {}
    for text in (*configured, *tool_words(tools)):
        for word in _WORD.findall(text):
            if not word.lower().startswith("http"):
                found[word] = None
    return " ".join(list(found)[:MAX_WORDS])

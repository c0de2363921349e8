"""FunASR as an ASR provider: one process with one model, shared by all devices."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from dataclasses import asdict
from importlib.util import find_spec
from typing import Any, Final

from loguru import logger

from vixio.core.errors import ProviderError, ProviderTimeout, ProviderUnavailable
from vixio.core.framing import Frame
from vixio.providers.asr import ASRProvider, SpeechHints
from vixio.providers.funasr.hotwords import hotwords
from vixio.providers.funasr.settings import FunASRSettings
from vixio.providers.funasr.stream import FunASRStream
from vixio.providers.funasr.wire import MAX_PAYLOAD, NAME, Kind
from vixio.providers.model_process import ModelProcess, Program
from vixio.providers.registry import ProviderFactory

PROGRAM: Final = Program(
    provider=NAME,
    module="vixio.providers.funasr.worker",
    kinds=Kind,
    ready=Kind.READY,
    unusable=Kind.UNUSABLE,
    max_payload=MAX_PAYLOAD,
    quiet=True,
)

_RESTART_SECONDS: Final = (0.0, 1.0, 5.0, 20.0)
"""How long to wait before each further start, until one succeeds."""


class FunASRProvider(ASRProvider):
    """Sends utterances to the process with the model and hands its words out."""

    name = NAME

    def __init__(self, settings: FunASRSettings | None = None) -> None:
        """Raises ProviderUnavailable if a package or the model's folder is missing."""
        self.settings = settings or FunASRSettings()
        _check_packages()
        self._worker_settings = self.settings.worker()
        self._starting: asyncio.Task[None] | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._process: ModelProcess[Kind] | None = None
        self._ready = asyncio.Event()
        self._streams: dict[int, FunASRStream] = {}
        self._numbers = itertools.count(1)
        self._answered = time.monotonic()
        self._closed = False

    @property
    def process(self) -> ModelProcess[Kind] | None:
        """The process with the model, None while there is none that is ready."""
        return self._process

    @property
    def waiting(self) -> int:
        """How many utterances are over and wait for their words."""
        return sum(stream.waits for stream in self._streams.values())

    async def start(self) -> None:
        """Load the model, downloading it if it has to be. Raises ProviderError."""
        if self._closed:
            raise _closed()
        if self._starting is None or _failed(self._starting):
            self._starting = asyncio.create_task(self._start())
        try:
            await asyncio.shield(self._starting)
        except asyncio.CancelledError:
            if self._starting.cancelled():  # by close(); a cancelled caller sees its own
                raise _closed() from None
            raise

    def open(self, hints: SpeechHints) -> FunASRStream:
        """Begin an utterance; what it is fed waits until the model is loaded."""
        if self._closed:
            raise _closed()
        words = hotwords(self.settings.hotwords, hints.tools)
        return FunASRStream(self, next(self._numbers), words)

    async def close(self) -> None:
        """End the process; open utterances fail. Idempotent."""
        self._closed = True
        tasks = [task for task in (self._starting, self._keeper) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._fail_all(_closed())
        self._ready.set()  # who waits for it sees that there is none

    async def get_process(self) -> ModelProcess[Kind]:
        """Wait for the model. Raises ProviderError; to be bounded by the caller."""
        if self._process is None and not self._closed:
            await self.start()
            await self._ready.wait()
        if self._process is None:
            raise _closed() if self._closed else PROGRAM.ended()
        return self._process

    def attach(self, stream: FunASRStream) -> None:
        """Let ``stream`` be told what the process says of it."""
        self._streams[stream.number] = stream

    def detach(self, stream: FunASRStream) -> None:
        """Forget ``stream``; if the process has it, it gives it up."""
        if self._streams.pop(stream.number, None) is not None and self._process is not None:
            self._process.send(Kind.CANCEL, stream.number)

    def overdue(self, seconds: float) -> ProviderTimeout:
        """Return the error of an utterance that got no words in time.

        A process that answered nobody meanwhile hangs: it is ended, and another one started.
        """
        if self._process is not None and time.monotonic() - self._answered >= seconds:
            logger.bind(pid=self._process.pid).warning("recognition process hangs")
            self._process.kill()
        return ProviderTimeout(NAME, "transcript", seconds)

    async def _start(self) -> None:
        process = await self._launch()
        self._take_over(process)
        self._keeper = asyncio.create_task(self._keep(process))

    async def _launch(self) -> ModelProcess[Kind]:
        settings = self.settings
        logger.bind(model=settings.model).info("loading the recognition model")
        begun = time.monotonic()
        process = await ModelProcess.start(
            PROGRAM, json.dumps(asdict(self._worker_settings)), settings.load_timeout
        )
        seconds = round(time.monotonic() - begun, 1)
        logger.bind(seconds=seconds, pid=process.pid, **process.about).info("model loaded")
        if settings.hotwords and not process.about["hotwords"]:
            logger.bind(model=settings.model).warning("this model takes no hotwords")
        return process

    def _take_over(self, process: ModelProcess[Kind]) -> None:
        self._process = process
        self._answered = time.monotonic()
        self._ready.set()

    async def _keep(self, process: ModelProcess[Kind]) -> None:
        """Watch over the process, and replace it when it ends."""
        try:
            while True:
                try:
                    await process.run(self._hand_out)
                except ValueError as error:  # its output makes no sense
                    logger.bind(reason=str(error)).warning("recognition process confused")
                self._process = None
                self._ready.clear()
                self._fail_all(PROGRAM.ended())
                await process.stop(kill=True)
                logger.bind(pid=process.pid).warning("recognition process ended, starting another")
                process = await self._replace()
                self._take_over(process)
        finally:
            self._process = None
            await process.stop()

    async def _replace(self) -> ModelProcess[Kind]:
        for delay in itertools.chain(_RESTART_SECONDS, itertools.repeat(_RESTART_SECONDS[-1])):
            await asyncio.sleep(delay)
            try:
                return await self._launch()
            except (ProviderError, OSError) as error:
                logger.bind(reason=str(error)).error("recognition process did not start")
        raise AssertionError("unreachable: the delays go on without end")

    def _hand_out(self, frame: Frame[Kind]) -> None:
        self._answered = time.monotonic()
        stream = self._streams.get(frame.stream)
        if stream is None:  # given up meanwhile
            return
        said: dict[str, Any] = frame.json()
        if frame.kind is Kind.PARTIAL:
            stream.hear(said["text"])
            return
        del self._streams[frame.stream]
        if frame.kind is Kind.RESULT:
            stream.take(said["text"], said["batch"])
        else:
            stream.fail(ProviderError(NAME, said["message"], retryable=False))

    def _fail_all(self, error: ProviderError) -> None:
        streams, self._streams = self._streams, {}
        for stream in streams.values():
            stream.fail(error)


def _check_packages() -> None:
    # find_spec does not import them: the server itself never loads them.
    if find_spec("funasr") is None:
        raise ProviderUnavailable(
            NAME, "FunASR is missing: pip install 'vixio[funasr]', and torch: pip install torch"
        )
    if find_spec("torch") is None:
        raise ProviderUnavailable(
            NAME, "torch is missing, on which FunASR runs: pip install torch (docs/dependencies.md)"
        )


def _failed(task: asyncio.Task[None]) -> bool:
    return task.done() and (task.cancelled() or task.exception() is not None)


def _closed() -> ProviderError:
    return ProviderError(NAME, "it is closed", retryable=False)


FACTORY = ProviderFactory(settings_model=FunASRSettings, create=FunASRProvider)

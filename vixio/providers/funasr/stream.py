"""One utterance of the FunASR provider."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from vixio.core.audio import BYTES_PER_SAMPLE, LISTEN_RATE, pcm_bytes
from vixio.core.errors import ProviderError
from vixio.core.messages import LOADING
from vixio.providers.asr import ASRStream, Recognition
from vixio.providers.funasr.messages import NAME, Kind
from vixio.providers.sensevoice_tags import parse_tags

if TYPE_CHECKING:
    from vixio.providers.funasr.provider import FunASRProvider, ModelWorker


_log = logging.getLogger(__name__)


class FunASRStream(ASRStream):
    """Sends audio to the worker process as it comes, and buffers it while the model loads."""

    def __init__(self, provider: FunASRProvider, number: int, words: str) -> None:
        self.number = number
        self.batch = 0
        """Once finished: how many utterances shared the model's call, 0 without a call."""
        self.waits = False
        """Whether the utterance has ended and waits for its transcript."""
        self._provider = provider
        self._words = words
        self._left = pcm_bytes(provider.settings.max_seconds, LISTEN_RATE)
        self._early = bytearray()
        self._worker: ModelWorker | None = None
        self._result: asyncio.Future[Recognition] | None = None
        self._error: ProviderError | None = None
        self._closed = False

    async def feed(self, pcm: bytes) -> None:
        """Take more 16 kHz PCM. Audio beyond the settings' ``max_seconds`` is dropped."""
        self._check()
        pcm = pcm[: min(self._left, len(pcm) // BYTES_PER_SAMPLE * BYTES_PER_SAMPLE)]
        self._left -= len(pcm)
        if not pcm:
            return
        if self._worker is None:
            self._early += pcm
            if self._provider.worker is not None:
                self._place(self._provider.worker)
        else:
            self._worker.process.send(Kind.AUDIO, self.number, pcm)
        if self._worker is not None:
            await self._worker.process.drain()

    async def finish(self) -> Recognition:
        """Return the transcript within the settings' ``timeout``. Raises ProviderError."""
        self._check()
        settings = self._provider.settings
        if self._provider.waiting >= settings.max_waiting:
            raise ProviderError(NAME, "too many utterances wait for the model", reason="busy")
        try:
            async with asyncio.timeout(settings.timeout):
                if self._worker is None:
                    self._place(await self._provider.get_worker())
                return await self._wait()
        except TimeoutError:
            if self._worker is None:  # the timeout is shorter than the wait for a replacement
                raise ProviderError(NAME, "its model is still loading", reason=LOADING) from None
            raise self._provider.overdue(self._worker, settings.timeout) from None

    async def close(self) -> None:
        """Cancel the utterance, finished or not."""
        self._closed = True
        self.fail(ProviderError(NAME, "the stream is closed", retryable=False))
        if self._worker is not None:
            self._worker.detach(self)

    def hear(self, text: str) -> None:
        """Report a partial transcript."""
        self.report_partial(parse_tags(text).text)

    def take(self, text: str, batch: int) -> None:
        """Complete the utterance with its transcript."""
        self.batch = batch
        heard = parse_tags(text)
        _log.debug("utterance recognised", extra={"batch": batch, "events": heard.events})
        recognition = Recognition(heard.text, language=heard.language, emotion=heard.emotion)
        if self._result is not None and not self._result.done():
            self._result.set_result(recognition)

    def fail(self, error: ProviderError) -> None:
        """Fail the utterance with ``error``."""
        self._error = self._error or error
        if self._result is not None and not self._result.done():
            self._result.set_exception(error)
            self._result.exception()  # marks it as retrieved: a closed stream does not await it

    async def _wait(self) -> Recognition:
        self._check()
        if self._worker is None:  # pragma: no cover - placed by finish(), for the type checker
            raise ProviderError(NAME, "it is not placed")
        if self._result is None:
            self._result = asyncio.get_running_loop().create_future()
            self._worker.process.send(Kind.FINISH, self.number)
        self.waits = True
        try:
            return await asyncio.shield(self._result)
        finally:
            self.waits = False

    def _place(self, worker: ModelWorker) -> None:
        self._check()
        self._worker = worker
        worker.attach(self)
        hints = {"language": self._provider.settings.language, "hotwords": self._words}
        worker.process.send(Kind.OPEN, self.number, hints)
        worker.process.send(Kind.AUDIO, self.number, bytes(self._early))
        self._early.clear()

    def _check(self) -> None:
        if self._closed:
            raise ProviderError(NAME, "the stream is closed", retryable=False)
        if self._error is not None:
            raise self._error

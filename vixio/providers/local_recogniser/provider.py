"""The base class of ASR providers with one model in this process, and its stream."""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from collections import deque
from typing import Generic

from vixio.core.audio import BYTES_PER_SAMPLE, LISTEN_RATE
from vixio.core.errors import ProviderError
from vixio.providers.asr import ASRProvider, ASRStream, Recognition, SpeechHints
from vixio.providers.local_recogniser.models import OfflineModel, OnlineModel, RequestT
from vixio.providers.local_recogniser.threads import (
    DecodeThread,
    OfflineThread,
    OnlineThread,
    Utterance,
)

_log = logging.getLogger(__name__)

_SECOND = LISTEN_RATE * BYTES_PER_SAMPLE
_AHEAD = 5 * _SECOND
"""Bytes that a streaming utterance may be ahead of the decoder; then ``feed`` waits."""


class LocalRecogniser(ASRProvider, Generic[RequestT]):
    """One model, one thread, for all devices of the event loop that started it.

    A vendor's class defines ``name``, :meth:`load` and :meth:`request`.
    """

    def __init__(self, *, max_seconds: float, max_waiting: int, max_batch: int = 1) -> None:
        """``max_seconds``: longest utterance; a longer one is rejected.

        ``max_waiting``: utterances that may wait, further ones are refused; ``max_batch``: most
        utterances of one call.
        """
        self._limit = round(max_seconds * _SECOND)
        self._max_waiting = max_waiting
        self._max_batch = max_batch
        self._thread: DecodeThread[RequestT] | None = None
        self._starting = asyncio.Lock()
        self._closed = False
        self._streams: set[LocalStream[RequestT]] = set()
        self.streaming = False
        """Whether the model decodes while the user speaks. Known after :meth:`start`."""

    async def before_load(self) -> None:
        """Run on the loop before :meth:`load`. Raises ProviderUnavailable."""

    @abstractmethod
    def load(self) -> OfflineModel[RequestT] | OnlineModel[RequestT]:
        """Return the model, warmed up. Called in a thread. Raises ProviderUnavailable."""

    @abstractmethod
    def request(self, hints: SpeechHints) -> RequestT:
        """Return what the model is told about an utterance with these hints."""

    async def start(self) -> None:
        """Load the model in a thread. Raises ProviderUnavailable, which names what is missing."""
        async with self._starting:
            if self._closed:
                raise self.refusal()
            if self._thread is not None:
                return
            await self.before_load()
            model = await asyncio.to_thread(self.load)
            loop = asyncio.get_running_loop()
            if isinstance(model, OfflineModel):
                self._thread = OfflineThread(self.name, model, loop, self._max_batch)
            else:
                self._thread = OnlineThread(self.name, model, loop, self._max_batch)
                self.streaming = True
        _log.debug("ASR loaded", extra={"provider": self.name, "streaming": self.streaming})

    def open(self, hints: SpeechHints) -> LocalStream[RequestT]:
        """Begin an utterance. Raises ProviderError when the provider is closed."""
        if self._closed:
            raise self.refusal()
        return LocalStream(self, self._limit, self.request(hints))

    async def close(self) -> None:
        """Stop the thread after the call in progress. Open streams fail. Idempotent."""
        self._closed = True
        async with self._starting:  # a start in progress leaves nothing behind
            thread, self._thread = self._thread, None
        for stream in tuple(self._streams):
            stream.fail(self.refusal())
        if thread is not None:
            thread.stop()
            await thread.join()

    def refusal(self) -> ProviderError:
        """Return the error of a provider that is closed or not started."""
        if self._closed:
            return ProviderError(self.name, "the provider is closed", retryable=False)
        return ProviderError(self.name, "the provider is not started", reason="not_ready")

    @property
    def running(self) -> bool:
        """Whether the provider is started and not closed."""
        return self._thread is not None

    def submit(self, utterance: Utterance[RequestT]) -> None:
        """Queue new audio or the end of ``utterance`` for the thread. Raises ProviderError."""
        if self._thread is None:
            raise self.refusal()
        self._thread.submit(utterance)

    def enter(self, stream: LocalStream[RequestT]) -> None:
        """Count ``stream`` among the active ones. Raises ProviderError if there are too many."""
        if stream not in self._streams and len(self._streams) >= self._max_waiting:
            raise ProviderError(self.name, "too many utterances are waiting", reason="busy")
        self._streams.add(stream)

    def leave(self, stream: LocalStream[RequestT]) -> None:
        """Undo :meth:`enter`. Idempotent."""
        self._streams.discard(stream)


class LocalStream(ASRStream, Generic[RequestT]):
    """One utterance: collected until its end, or decoded piece by piece by a streaming model."""

    def __init__(self, provider: LocalRecogniser[RequestT], limit: int, request: RequestT) -> None:
        """``limit``: bytes of the longest utterance."""
        self._provider = provider
        self._limit = limit
        self._size = 0
        self._odd = b""
        self._behind = 0
        self._caught_up = asyncio.Event()
        self._error: ProviderError | None = None
        self._closed = False
        self._finished = False
        future: asyncio.Future[Recognition] = asyncio.get_running_loop().create_future()
        future.add_done_callback(lambda _: self._caught_up.set())
        self._utterance = Utterance(future, request, self._on_partial)

    async def feed(self, pcm: bytes) -> None:
        """Take more audio. Audio beyond the longest utterance is counted, not kept."""
        self._check()
        pcm = self._odd + pcm
        whole = len(pcm) - len(pcm) % BYTES_PER_SAMPLE
        self._odd = pcm[whole:]
        self._size += whole
        if not whole or self._size > self._limit:
            return
        self._utterance.pcm.append(pcm[:whole])
        if not self._provider.streaming:
            return
        self._provider.enter(self)
        self._behind += whole
        self._provider.submit(self._utterance)
        while self._behind > _AHEAD:
            self._caught_up.clear()
            await self._caught_up.wait()
            self._check()

    def update_hints(self, hints: SpeechHints) -> None:
        """Replace the hints, unless the model is a streaming one."""
        if not (self._provider.streaming or self._finished or self._closed):
            self._utterance.request = self._provider.request(hints)

    async def finish(self) -> Recognition:
        """Return the transcript: empty without audio, rejected if the utterance is too long."""
        self._check()
        self._finished = True
        if not self._size:
            return Recognition("")
        if self._size > self._limit:
            self._abandon()
            return Recognition("", rejected=True)
        self._provider.enter(self)
        self._utterance.ended = True
        self._provider.submit(self._utterance)
        try:
            return await self._utterance.future
        finally:
            self._abandon()

    async def close(self) -> None:
        """Cancel the utterance if it is not done. Idempotent."""
        self._closed = True
        self._abandon()

    def fail(self, error: ProviderError) -> None:
        """Fail the utterance, and every later call, with ``error``."""
        self._error = error
        if not self._utterance.future.done():
            self._utterance.future.set_exception(error)
            self._utterance.future.exception()  # marks it as retrieved

    def _check(self) -> None:
        if self._error is not None:
            raise self._error
        if self._closed or self._finished:
            raise ProviderError(self._provider.name, "the utterance is over", retryable=False)
        if (error := _failure(self._utterance.future)) is not None:
            raise error
        if not self._provider.running:
            raise self._provider.refusal()

    def _abandon(self) -> None:
        self._provider.leave(self)
        if self._utterance.abandoned:
            return
        self._utterance.abandoned = True
        self._utterance.pcm = deque()
        self._utterance.future.cancel()
        _failure(self._utterance.future)  # marks the exception as retrieved
        if self._provider.streaming and self._provider.running:
            self._provider.submit(self._utterance)  # the thread releases the library's state

    def _on_partial(self, text: str, taken: int) -> None:
        self._behind -= taken
        if self._behind <= _AHEAD:
            self._caught_up.set()
        if not self._closed:
            self.report_partial(text)


def _failure(future: asyncio.Future[Recognition]) -> BaseException | None:
    return future.exception() if future.done() and not future.cancelled() else None

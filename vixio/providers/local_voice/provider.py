"""The base class of TTS providers with one voice in this process."""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from collections.abc import AsyncIterator

from vixio.core.errors import ProviderError
from vixio.providers.local_voice.job import VoiceJob
from vixio.providers.local_voice.worker import Voice, VoiceThread
from vixio.providers.spoken_text import clean, split_by_cost
from vixio.providers.tts import TTSProvider

_log = logging.getLogger(__name__)

PIECE_COST = 160
"""Length of a piece in Latin letters, about ten seconds of speech. It bounds the wait of other
devices and the audio that a reply buffers."""


class LocalVoiceProvider(TTSProvider):
    """One voice, one thread, for all devices of the event loop that started it.

    A vendor's class defines ``name`` and :meth:`load`.
    """

    sample_rate = 24_000

    def __init__(self) -> None:
        self._thread: VoiceThread | None = None
        self._starting = asyncio.Lock()
        self._loading: asyncio.Task[Voice] | None = None
        self._closed = False
        self._jobs: set[VoiceJob] = set()

    async def prepare(self) -> None:
        """Run on the loop before :meth:`load`. Raises ProviderUnavailable."""

    @abstractmethod
    def load(self) -> Voice:
        """Return the voice. Called in a thread. Raises ProviderUnavailable."""

    async def start(self) -> None:
        """Load the voice in a thread. Raises ProviderUnavailable."""
        async with self._starting:
            if self._closed:
                raise self._refusal()
            if self._thread is not None:
                return
            await self.prepare()
            if self._loading is None:  # else a cancelled start began the load
                self._loading = asyncio.create_task(asyncio.to_thread(self.load))
            await asyncio.wait([self._loading])  # does not cancel the load
            loading, self._loading = self._loading, None
            voice = loading.result()
            self.sample_rate = voice.sample_rate
            self._thread = VoiceThread(voice)
        _log.debug("TTS loaded", extra={"provider": self.name, "sample_rate": self.sample_rate})

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Yield PCM in chunks of 100 ms; nothing if ``text`` holds no letter or digit.

        Most voices speak every ``language`` in the same way. Raises ProviderError.
        """
        for piece in split_by_cost(clean(text), PIECE_COST):
            if self._thread is None:
                raise self._refusal()
            job = VoiceJob(piece, language)
            self._jobs.add(job)
            try:
                self._thread.submit(job)
                while (pcm := await job.next()) is not None:
                    yield pcm
            finally:
                self._jobs.discard(job)
                job.cancel()

    async def close(self) -> None:
        """Fail the speech in progress and stop the thread. Idempotent."""
        self._closed = True
        for job in self._jobs:
            job.cancel()
            job.finish(self._refusal())
        async with self._starting:  # a start in progress leaves nothing behind
            thread, self._thread = self._thread, None
            await self._discard()
        if thread is not None:
            thread.stop()
            await thread.join()

    async def _discard(self) -> None:
        """Close a voice whose start was cancelled while it was being loaded."""
        loading, self._loading = self._loading, None
        if loading is not None:
            await asyncio.wait([loading])
            if not loading.cancelled() and loading.exception() is None:
                await asyncio.to_thread(loading.result().close)

    def _refusal(self) -> ProviderError:
        if self._closed:
            return ProviderError(self.name, "the provider is closed", retryable=False)
        return ProviderError(
            self.name, "the provider is not started", retryable=False, reason="not_ready"
        )

"""A recogniser that knows two sentences: the second of those that stand around another.

In their place a real one would be recognised with once more in every test, and it passes the suite
by itself.
"""

from __future__ import annotations

import asyncio

from vixio.core.audio import LISTEN_RATE, pcm_bytes
from vixio.core.errors import ProviderError
from vixio.providers.asr import ASRProvider, ASRStream, Recognition, SpeechHints
from vixio.testing.contract.asr import utterances

LONGEST = pcm_bytes(8.0, LISTEN_RATE)


class KnownWordsASR(ASRProvider):
    """Recognises :func:`utterances`, where a tool of the hints has the sentence for a description.

    Like a recogniser of commands it depends on the hints, which may change under way.
    """

    name = "known-words"

    def __init__(self) -> None:
        self.started = self.closed = False

    @property
    def closed_vocabulary(self) -> bool:
        return True

    async def start(self) -> None:
        self.check("closed", self.closed)
        self.started = True

    def open(self, hints: SpeechHints) -> ASRStream:
        return _Stream(self, hints)

    async def close(self) -> None:
        self.closed = True

    def check(self, state: str, there: bool) -> None:
        """Raise ProviderError for a state that nothing is recognised in."""
        if there:
            raise ProviderError(self.name, state, retryable=False)


class _Stream(ASRStream):
    def __init__(self, provider: KnownWordsASR, hints: SpeechHints) -> None:
        self._provider = provider
        self._hints = hints
        self._audio = bytearray()
        self._closed = False

    async def feed(self, pcm: bytes) -> None:
        self._check()
        self._audio += pcm[: LONGEST - len(self._audio)]

    def update_hints(self, hints: SpeechHints) -> None:
        self._hints = hints

    async def finish(self) -> Recognition:
        self._check()
        for _ in range(5):  # a cancellation may come in between
            await asyncio.sleep(0)
            self._check()
        offered = {tool.description.lower() for tool in self._hints.tools}
        for words, pcm in utterances().items():
            if self._audio == pcm and words in offered:
                return Recognition(words, confidence=1.0, language="en")
        return Recognition("", rejected=any(self._audio))

    async def close(self) -> None:
        self._closed = True

    def _check(self) -> None:
        self._provider.check("not started", not self._provider.started)
        self._provider.check("closed", self._provider.closed)
        self._provider.check("the stream is closed", self._closed)

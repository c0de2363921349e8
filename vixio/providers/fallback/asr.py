"""Several recognisers: where one fails, the next one gets the utterance from its beginning."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from vixio.core.audio import LISTEN_RATE, pcm_bytes
from vixio.core.errors import ProviderError, ProviderTimeout
from vixio.providers.asr import ASRProvider, ASRStream, Recognition, SpeechHints
from vixio.providers.fallback.availability import Place
from vixio.providers.fallback.candidates import Attempt, Candidate, Candidates, FallbackProvider
from vixio.providers.fallback.circuit_breaker import BreakerSettings
from vixio.providers.fallback.time_shares import equal_share

KEPT_BYTES = pcm_bytes(600.0, LISTEN_RATE)
"""Audio of an utterance that is kept for the next recogniser: the longest that
``listening.max_utterance_ms`` allows. Beyond it the oldest is dropped."""

PIECE_BYTES = pcm_bytes(1.0, LISTEN_RATE)
"""Fed at a time to a recogniser that has to catch up."""

CATCH_UP_BYTES = pcm_bytes(5.0, LISTEN_RATE)
"""Fed besides each new piece, so that the device's audio is not delayed for long."""

FEED_SECONDS = 2.0
"""For which a recogniser may hold the audio up while there is another one."""


class FallbackASRProvider(FallbackProvider[ASRProvider], ASRProvider):
    """``seconds``: from the end of the audio to its words, for all recognisers together."""

    def __init__(
        self,
        providers: Sequence[ASRProvider],
        seconds: float = 12.0,
        breaker: BreakerSettings | None = None,
        places: Sequence[Place] = (),
    ) -> None:
        self.candidates = Candidates("asr", providers, breaker, places)
        self.name = self.candidates.name
        self._seconds = seconds

    @property
    def closed_vocabulary(self) -> bool:
        """Whether one of them recognises nothing but what the hints name."""
        return any(each.provider.closed_vocabulary for each in self.candidates.all)

    @property
    def hears_freely(self) -> bool:
        """Whether one of them does."""
        return any(each.provider.hears_freely for each in self.candidates.all)

    def prepare(self, hints: SpeechHints) -> None:
        """Prepare all of them."""
        for candidate in self.candidates.all:
            if candidate.ready:
                candidate.provider.prepare(hints)

    def open(self, hints: SpeechHints) -> ASRStream:
        """Begin an utterance with the first that can be asked."""
        return FallbackASRStream(self.candidates, hints, self._seconds)


class FallbackASRStream(ASRStream):
    """One utterance, kept as long as another recogniser might need it."""

    def __init__(
        self, candidates: Candidates[ASRProvider], hints: SpeechHints, seconds: float
    ) -> None:
        self._candidates = candidates
        self._hints = hints
        self._seconds = seconds
        self._failure: ProviderError | None = None
        self._left: list[Candidate[ASRProvider]] = []
        self._attempt: Attempt[ASRProvider] | None = None
        self._stream: ASRStream | None = None
        self._spent: list[ASRStream] = []
        self._kept = bytearray()
        self._kept_from = 0
        self._given = 0  # both counted in bytes of the utterance
        self._closed = False
        try:
            self._left = candidates.plan()
            self._next()
        except ProviderError as error:  # raised by feed() and finish(), as by any other stream
            self._failure = error

    async def feed(self, pcm: bytes) -> None:
        """Take more audio; raises the first recogniser's failure when all have failed."""
        self._kept += pcm
        if (excess := len(self._kept) - KEPT_BYTES) > 0:
            self._forget(excess)
        while True:
            stream = self._current()
            try:
                async with self._bounded("progress", FEED_SECONDS):
                    await self._give(stream, len(pcm) + CATCH_UP_BYTES)
            except Exception as error:  # noqa: BLE001 - a defect counts as a failure
                self._pass_over(error)
            else:
                break
        if not self._left:  # no other recogniser will need it
            self._forget(self._given - self._kept_from)

    def update_hints(self, hints: SpeechHints) -> None:
        """Use these, in this recogniser and in any that follows."""
        self._hints = hints
        if self._stream is not None:
            self._stream.update_hints(hints)

    async def finish(self) -> Recognition:
        """Return the words of the first that finds them; raises the first one's failure."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._seconds
        while True:
            stream = self._current()
            seconds = equal_share(self._seconds, deadline - loop.time(), self._groups())
            try:
                async with self._bounded("words", round(seconds, 2)):
                    await self._give(stream, len(self._kept))
                    heard = await stream.finish()
            except Exception as error:  # noqa: BLE001 - as above
                self._pass_over(error)
            else:
                self.partial = heard.text
                if self._attempt is not None:
                    self._attempt.worked()
                return heard

    async def close(self) -> None:
        """Close every stream that was opened for it."""
        if self._closed:
            return
        self._closed = True
        if self._attempt is not None:
            self._attempt.over()
        self._kept.clear()
        for stream in (*self._spent, self._stream):
            if stream is not None:
                with suppress(Exception):  # the words are there, or not wanted
                    await stream.close()

    def _groups(self) -> list[int]:
        """Return the groups of this recogniser and of those that could follow."""
        mine = [self._attempt.candidate.group] if self._attempt is not None else []
        return mine + [each.group for each in self._left]

    def _current(self) -> ASRStream:
        """Return the current recogniser's stream, or the next one's if that has failed."""
        if self._closed:
            raise ProviderError(self._candidates.name, "the stream is closed", retryable=False)
        if self._candidates.closed:
            raise ProviderError(self._candidates.name, "the provider is closed", retryable=False)
        if self._stream is None:
            self._next()
        assert self._stream is not None  # noqa: S101 - else _next has raised
        return self._stream

    def _next(self) -> None:
        while self._left:
            candidate = self._left.pop(0)
            self._attempt = self._candidates.attempt(candidate)
            try:
                self._stream = candidate.provider.open(self._hints)
            except Exception as error:  # noqa: BLE001 - as above
                self._pass_over(error)
            else:
                self._stream.on_partial = self.report_partial
                self._given = self._kept_from
                return
        raise self._failure or self._candidates.none_left()

    def _pass_over(self, error: Exception) -> None:
        if self._attempt is not None:
            failure = self._attempt.failed(error)
            self._failure = self._failure or failure
            self._attempt = None
        if self._stream is not None:
            self._stream.on_partial = None
            self._spent.append(self._stream)
            self._stream = None

    async def _give(self, stream: ASRStream, most: int) -> None:
        """Feed audio that the recogniser has not had yet, at most so many bytes."""
        end = min(self._kept_from + len(self._kept), self._given + most)
        while self._given < end:
            start = self._given - self._kept_from
            piece = bytes(self._kept[start : min(start + PIECE_BYTES, end - self._kept_from)])
            self._given += len(piece)
            await stream.feed(piece)
        self.report_partial(stream.partial)

    def _forget(self, count: int) -> None:
        del self._kept[:count]
        self._kept_from += count
        self._given = max(self._given, self._kept_from)

    @asynccontextmanager
    async def _bounded(self, what: str, seconds: float) -> AsyncIterator[None]:
        """Bound the wait for all but the last, for which the caller's bound holds."""
        if not self._left or self._attempt is None:
            yield
            return
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError:
            raise ProviderTimeout(self._attempt.candidate.name, what, seconds) from None

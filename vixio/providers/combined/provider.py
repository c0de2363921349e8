"""Two recognisers as one. One that fails costs nothing but itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from vixio.core.errors import ConfigError, ProviderError, ProviderTimeout
from vixio.providers.asr import ASRProvider, ASRStream, Recognition, SpeechHints
from vixio.providers.combined.arbiter import Arbiter
from vixio.providers.combined.values import CommandValues
from vixio.providers.fallback.asr import FallbackASRProvider
from vixio.providers.fallback.candidates import Attempt, Candidates
from vixio.providers.fallback.circuit_breaker import BreakerSettings

FEED_SECONDS = 2.0
"""For which one recogniser may hold up the audio of the other."""

T = TypeVar("T")


class CombinedASRProvider(FallbackASRProvider):
    """``seconds``: from the end of the audio to the words."""

    alternatives = False

    def __init__(
        self,
        commands: ASRProvider,
        speech: ASRProvider,
        arbiter: Arbiter | None = None,
        seconds: float = 8.0,
        breaker: BreakerSettings | None = None,
    ) -> None:
        super().__init__((commands, speech), seconds, breaker)
        self.name = f"{commands.name} + {speech.name}"
        self._arbiter = arbiter or Arbiter()

    def open(self, hints: SpeechHints) -> ASRStream:
        """Begin an utterance with those that can be asked."""
        return CombinedStream(self.candidates, hints, self._arbiter, self._seconds)


class CombinedStream(ASRStream):
    """One utterance, heard by both."""

    def __init__(
        self,
        candidates: Candidates[ASRProvider],
        hints: SpeechHints,
        arbiter: Arbiter,
        seconds: float,
    ) -> None:
        self._candidates = candidates
        self._hints = hints
        self._arbiter = arbiter
        self._seconds = seconds
        self._closed = False
        self._failure = candidates.none_left()
        self._ears: list[_Ear] = []
        try:
            planned = candidates.plan()
        except ProviderError as error:  # raised by feed() and finish(), as by any other stream
            self._failure = error
            return
        for candidate in planned:
            ear = _Ear(candidates.attempt(candidate), candidate is candidates.all[0])
            ear.open(hints, self.report_partial)
            self._ears.append(ear)

    async def feed(self, pcm: bytes) -> None:
        """Take more audio; raises ProviderError when both have failed."""
        working = self._working()
        for ear in working:
            # The last one that works may take the time that the caller allows.
            await ear.feed(pcm, FEED_SECONDS if len(working) > 1 else None)
        self._working()

    def update_hints(self, hints: SpeechHints) -> None:
        """Replace the hints of both."""
        self._hints = hints
        for ear in self._ears:
            ear.update_hints(hints)

    async def finish(self) -> Recognition:
        """Return the words that count; raises ProviderError when both have failed."""
        finishing = [
            asyncio.create_task(ear.finish(self._seconds), name=ear.name) for ear in self._working()
        ]
        heard: dict[bool, Recognition] = {}
        values: CommandValues | None = None
        try:
            for each in asyncio.as_completed(finishing):
                of_commands, recognition = await each
                if recognition is None:
                    continue
                heard[of_commands] = recognition
                if of_commands and recognition.text:
                    values = await asyncio.to_thread(self._values, recognition)
                    if values is None and self._arbiter.is_sure(recognition):
                        return recognition  # whatever the other one hears
        finally:
            for task in finishing:
                task.cancel()
            await asyncio.gather(*finishing, return_exceptions=True)
        if len(heard) == 2:
            return self._arbiter.choose(heard[True], heard[False], values)
        if not heard:
            self._working()
        return next(iter(heard.values()))

    def _values(self, commands: Recognition) -> CommandValues | None:
        from vixio.language.phrasebook import PhraseBook, signatures  # not while the server starts

        language = commands.language or self._hints.language or "en"
        try:
            book = PhraseBook.load(language)
        except ConfigError:
            return None
        return CommandValues.of(book.compile(signatures(self._hints.tools)), commands.text)

    async def close(self) -> None:
        """Close both. Idempotent."""
        if not self._closed:
            self._closed = True
            for ear in self._ears:
                await ear.close()

    def _working(self) -> list[_Ear]:
        """Return those that have not failed; raise ProviderError if there are none."""
        name = self._candidates.name
        if self._closed:
            raise ProviderError(name, "the stream is closed", retryable=False)
        if self._candidates.closed:
            raise ProviderError(name, "the provider is closed", retryable=False)
        working = [ear for ear in self._ears if ear.failure is None]
        if not working:
            failures = [ear.failure for ear in self._ears if ear.failure is not None]
            raise next(iter(failures), self._failure)
        return working


class _Ear:
    """One recogniser's part in an utterance. What it raises ends its part alone."""

    def __init__(self, attempt: Attempt[ASRProvider], of_commands: bool) -> None:
        self.name = attempt.candidate.name
        self.of_commands = of_commands
        self.failure: ProviderError | None = None
        self._attempt = attempt
        self._stream: ASRStream | None = None

    def open(self, hints: SpeechHints, on_partial: Callable[[str], None]) -> None:
        """Begin. ``on_partial``: takes the partial words of free speech."""
        try:
            self._stream = self._attempt.candidate.provider.open(hints)
        except Exception as error:  # noqa: BLE001 - a defect counts as a failure
            self.failure = self._attempt.failed(error)
        else:
            if not self.of_commands:
                self._stream.on_partial = on_partial

    async def feed(self, pcm: bytes, seconds: float | None) -> None:
        """Take more audio within ``seconds``."""
        if self._stream is not None:
            await self._use(self._stream.feed(pcm), "progress", seconds)

    def update_hints(self, hints: SpeechHints) -> None:
        """Replace the hints."""
        if self._stream is not None and self.failure is None:
            try:
                self._stream.update_hints(hints)
            except Exception as error:  # noqa: BLE001 - as above
                self.failure = self._attempt.failed(error)

    async def finish(self, seconds: float) -> tuple[bool, Recognition | None]:
        """Return whether these are commands, and the words within ``seconds``: None if it fails."""
        if self._stream is None:
            return self.of_commands, None
        self._stream.on_partial = None
        heard = await self._use(self._stream.finish(), "words", seconds)
        if heard is not None:
            self._attempt.worked()
        return self.of_commands, heard

    async def close(self) -> None:
        """Release everything."""
        self._attempt.over()
        if self._stream is not None:
            self._stream.on_partial = None
            with suppress(Exception):  # the words are there, or not wanted
                await self._stream.close()

    async def _use(self, work: Awaitable[T], what: str, seconds: float | None) -> T | None:
        try:
            limit = asyncio.timeout(seconds)
            try:
                async with limit:
                    return await work
            except TimeoutError:
                if not limit.expired():
                    raise
                raise ProviderTimeout(self.name, what, seconds or 0.0) from None
        except Exception as error:  # noqa: BLE001 - as above
            self.failure = self._attempt.failed(error)
            return None

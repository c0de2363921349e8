"""Several recognisers: where one fails, the next one gets the utterance from its beginning."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from vixio.core.audio import LISTEN_RATE, pcm_bytes
from vixio.core.errors import ProviderError, ProviderTimeout
from vixio.providers.asr import ASRProvider, ASRStream, Recognition, SpeechHints
from vixio.providers.chain.health import RestSettings
from vixio.providers.chain.members import Attempt, Chain, Member, Members, patience

KEPT_BYTES = pcm_bytes(600.0, LISTEN_RATE)
"""Of an utterance, for the next recogniser: what ``listening.max_utterance_ms`` can be at most. The
oldest goes beyond it."""

PIECE_BYTES = pcm_bytes(1.0, LISTEN_RATE)
"""Given at a time to a recogniser that has to catch up."""

CATCH_UP_BYTES = pcm_bytes(5.0, LISTEN_RATE)
"""Given beside each piece that comes in, so that the speaker's audio is not held up for long."""

FEED_SECONDS = 2.0
"""For which a recogniser may hold the audio up, as long as there is another one."""


class ChainASRProvider(Chain[ASRProvider], ASRProvider):
    """``seconds``: from the end of the audio to its words, all recognisers together."""

    def __init__(
        self,
        providers: Sequence[ASRProvider],
        seconds: float = 12.0,
        rest: RestSettings | None = None,
    ) -> None:
        self.members = Members("asr", providers, rest)
        self.name = self.members.name
        self._seconds = seconds

    @property
    def closed_vocabulary(self) -> bool:
        """Whether one of them recognises nothing but what the hints name."""
        return any(each.provider.closed_vocabulary for each in self.members.members)

    def prepare(self, hints: SpeechHints) -> None:
        """Prepare all of them."""
        for member in self.members.members:
            if member.ready:
                member.provider.prepare(hints)

    def open(self, hints: SpeechHints) -> ASRStream:
        """Begin an utterance with the first that can be asked."""
        return ChainASRStream(self.members, hints, self._seconds)


class ChainASRStream(ASRStream):
    """One utterance, kept as long as another recogniser might need it."""

    def __init__(self, members: Members[ASRProvider], hints: SpeechHints, seconds: float) -> None:
        self._members = members
        self._hints = hints
        self._seconds = seconds
        self._failure: ProviderError | None = None
        self._left: list[Member[ASRProvider]] = []
        self._attempt: Attempt[ASRProvider] | None = None
        self._stream: ASRStream | None = None
        self._spent: list[ASRStream] = []
        self._kept = bytearray()
        self._kept_from = 0
        self._given = 0  # both counted in bytes of the utterance
        self._closed = False
        try:
            self._left = members.plan()
            self._next()
        except ProviderError as error:  # told to who feeds it, as by any other stream
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
            except Exception as error:  # noqa: BLE001 - a member's defect is passed over as its errors are
                self._pass_over(error)
            else:
                break
        if not self._left:  # nobody else will need it
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
            seconds = patience(self._seconds, deadline - loop.time(), 1 + len(self._left))
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
                with suppress(Exception):  # the words are there, or nobody wants them
                    await stream.close()

    def _current(self) -> ASRStream:
        """Return the stream of who is asked now, the next one's if the last has failed."""
        if self._closed:
            raise ProviderError(self._members.name, "the stream is closed", retryable=False)
        if self._members.closed:
            raise ProviderError(self._members.name, "it is closed", retryable=False)
        if self._stream is None:
            self._next()
        assert self._stream is not None  # noqa: S101 - else _next has raised
        return self._stream

    def _next(self) -> None:
        while self._left:
            member = self._left.pop(0)
            self._attempt = self._members.attempt(member)
            try:
                self._stream = member.provider.open(self._hints)
            except Exception as error:  # noqa: BLE001 - as above
                self._pass_over(error)
            else:
                self._stream.on_partial = self.report_partial
                self._given = self._kept_from
                return
        raise self._failure or ProviderError(self._members.name, "there is nobody to ask")

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
        """Feed what the recogniser has not had yet, at most so many bytes of it."""
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
        """Wait no longer than that for who is not the last; for the last, the caller's bound is."""
        if not self._left or self._attempt is None:
            yield
            return
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError:
            raise ProviderTimeout(self._attempt.member.name, what, seconds) from None

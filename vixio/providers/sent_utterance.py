"""An utterance that a recogniser gets over a WebSocket while it is spoken.

What all vendors have in common: audio goes out in pieces of one length, a lost connection is
replaced once and gets all that was said, the words are waited for so long and no longer.
"""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Final, Generic, Protocol, TypeVar

from vixio.core.audio import BYTES_PER_SAMPLE, LISTEN_RATE, pcm_bytes
from vixio.core.errors import ProviderError, ProviderTimeout
from vixio.providers.asr import ASRStream, Recognition
from vixio.providers.service_socket import Frame

_log = logging.getLogger(__name__)

REPLAY_SECONDS: Final = 60.0
"""An utterance up to this long is sent again after the loss of its connection; longer ones fail."""

SECOND_LOOK: Final = 0.02
"""Seconds to read results that are already in the socket, before silence counts as the end."""


class Link(Protocol):
    """A connection that serves an utterance."""

    async def send(self, frame: Frame) -> None:
        """Send a frame. Raises ProviderError."""


L = TypeVar("L", bound=Link)


class SentUtterance(ASRStream, Generic[L]):
    """``provider``: its name. ``piece_s``: seconds of audio in a frame. ``timeout``: seconds from
    the end of speech to the words, and for sending a piece. ``longest_s``: of an utterance, as the
    vendor has it; one that goes on is continued in another, None: any."""

    def __init__(
        self, provider: str, *, piece_s: float, timeout: float, longest_s: float | None = None
    ) -> None:
        self._name = provider
        self._piece_s = piece_s
        self._piece = pcm_bytes(piece_s, LISTEN_RATE)
        self._timeout = timeout
        self._longest = None if longest_s is None else max(1, int(longest_s / piece_s))
        self._pending = bytearray()
        self._pieces: list[bytes] = []
        self._number = 0
        """Pieces of this utterance that were forgotten, and then its first one here."""
        self._sent = 0
        self._ended = self._end_sent = False
        self._spoken = False
        self._replayable = True
        self._replaced = False
        self._before: list[Recognition] = []
        self._link: L | None = None
        self._changed = asyncio.Event()
        self._broken: ProviderError | None = None
        self._failure: ProviderError | None = None
        self._finished: Recognition | None = None
        self._closed = False

    # ── what a vendor brings ─────────────────────────────────────────────────────────────────

    @abstractmethod
    async def connect(self, *, fresh: bool) -> L:
        """Return a connection that tells this stream what comes. Raises ProviderError.

        ``fresh``: no kept one, for one was lost.
        """

    @abstractmethod
    async def introduce(self, link: L) -> None:
        """Tell the vendor of the utterance, until audio may be sent. Raises ProviderError."""

    @abstractmethod
    def release(self, link: L) -> None:
        """Give a connection back: the utterance is complete."""

    @abstractmethod
    def discard(self, link: L) -> None:
        """Close a connection in the middle of the utterance. Must return at once."""

    @abstractmethod
    def last(self, number: int) -> Sequence[Frame]:
        """Return the frames that end the utterance; ``number``: of the frame that comes next."""

    @abstractmethod
    def result(self) -> Recognition:
        """Return the words, once they are complete."""

    @property
    @abstractmethod
    def complete(self) -> bool:
        """Whether the words are complete."""

    def begin(self) -> None:
        """Forget what came of the utterance: it is sent again, or the next part of it begins."""

    def audio(self, pcm: bytes, number: int) -> Frame:
        """Return a piece of audio as the vendor takes it. ``number``: of the piece, from 0."""
        return pcm

    def check_provider(self) -> None:
        """Raise ProviderError if the provider is closed."""

    @property
    def patience(self) -> float | None:
        """Seconds of silence that complete the words; None: a result is required."""
        return None

    def settle(self) -> None:
        """Complete the words: nothing has come for :attr:`patience` seconds."""

    def gave_up(self) -> None:
        """Note that the words did not come in time."""

    # ── what a vendor's connection tells ─────────────────────────────────────────────────────

    def changed(self) -> None:
        """Note that something has come."""
        self._changed.set()

    def failed(self, error: ProviderError) -> None:
        """Note that the connection serves no longer; one that may be retried is replaced once."""
        if error.retryable:
            self._failure = error
        else:
            self._broken = error
        self._changed.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for something that the vendor sends, in :meth:`introduce`. Raises ProviderError."""
        while not condition():
            self._check()
            if self._failure is not None:
                raise self._failure
            await self._changed.wait()
            self._changed.clear()

    # ── the stream ───────────────────────────────────────────────────────────────────────────

    async def feed(self, pcm: bytes) -> None:
        self._check()
        if self._finished is not None or self._ended:
            raise ProviderError(self._name, "the utterance is over", retryable=False)
        self._pending += pcm
        whole = len(self._pending) // self._piece * self._piece
        if not whole:
            return
        audio = bytes(self._pending[:whole])
        del self._pending[:whole]
        self._spoken = True
        for at in range(0, whole, self._piece):
            if self._longest is not None and self._number + len(self._pieces) >= self._longest:
                self._before.append(await self._recognised())
                self._restart()
            self._pieces.append(audio[at : at + self._piece])
        await self._send()

    async def finish(self) -> Recognition:
        self._check()
        if self._finished is None:
            rest = bytes(self._pending[: len(self._pending) // BYTES_PER_SAMPLE * BYTES_PER_SAMPLE])
            self._pending.clear()
            if rest:
                self._pieces.append(rest)
            elif not self._spoken:
                self._finished = Recognition("")  # no audio: no request
                return self._finished
            self._finished = joined([*self._before, await self._recognised()])
            extra = {"provider": self._name, "characters": len(self._finished.text)}
            _log.debug("utterance recognised", extra=extra)
        return self._finished

    async def close(self) -> None:
        self._closed = True
        self._changed.set()
        self._leave()

    def report(self, words: str) -> None:
        """Report the words so far of this utterance, or of this part of it."""
        self.report_partial(joined([*self._before, Recognition(words)]).text)

    async def _recognised(self) -> Recognition:
        """End the utterance at the vendor, and return its words."""
        self._ended = True
        try:
            async with asyncio.timeout(self._timeout):
                while not (self.complete and self._end_sent):
                    await self._send()
                    if not self.complete:
                        await self._progress()
        except TimeoutError:
            self.gave_up()
            raise ProviderTimeout(self._name, "words", self._timeout) from None
        self._check()
        if self._link is not None:
            link, self._link = self._link, None
            self.release(link)
        return self.result()

    async def _progress(self) -> None:
        """Wait for the next result, or for the silence that completes the words."""
        try:
            async with asyncio.timeout(self.patience):
                await self._changed.wait()
        except TimeoutError:
            # If the loop was blocked, results that arrived meanwhile are read first.
            await asyncio.sleep(SECOND_LOOK)
            if not self._changed.is_set():
                self.settle()
                return
        self._changed.clear()
        self._check()

    async def _send(self) -> None:
        """Send what is pending; after a loss all of it, over a new connection."""
        while True:
            try:
                await self._send_once()
            except ProviderError as error:
                lost = self._link is not None and not isinstance(error, ProviderTimeout)
                self._leave()
                self._check()
                if not (lost and error.retryable and self._replayable) or self._replaced:
                    self._broken = error
                    raise
                self._replaced = True
            else:
                return

    async def _send_once(self) -> None:
        self._check()
        if self._failure is not None:
            raise self._failure
        try:
            async with asyncio.timeout(self._timeout):
                if self._link is None and not (self._end_sent and self.complete):
                    await self._connect()
                while self._link is not None and self._sent < len(self._pieces):
                    number = self._number + self._sent
                    await self._link.send(self.audio(self._pieces[self._sent], number))
                    self._sent += 1
                if self._link is not None and self._ended and not self._end_sent:
                    self._end_sent = True
                    for frame in self.last(self._number + self._sent):
                        await self._link.send(frame)
        except TimeoutError:
            raise ProviderTimeout(self._name, "progress", self._timeout) from None
        self._forget()

    async def _connect(self) -> None:
        link = await self.connect(fresh=self._replaced)
        if self._closed:
            self.discard(link)
            self._check()
        self._link = link
        await self.introduce(link)

    def _forget(self) -> None:
        """Drop the sent pieces of a long utterance, which then cannot be sent again."""
        if len(self._pieces) * self._piece_s > REPLAY_SECONDS:
            self._replayable = False
        if not self._replayable:
            del self._pieces[: self._sent]
            self._number += self._sent
            self._sent = 0

    def _restart(self) -> None:
        """Begin the next part of a long utterance."""
        self._pieces.clear()
        self._number = self._sent = 0
        self._ended = self._end_sent = self._replaced = False
        self._replayable = True
        self.begin()

    def _leave(self) -> None:
        """Close the connection, which ends the vendor's work on this utterance."""
        link, self._link = self._link, None
        if link is not None:
            self.discard(link)
        self._sent = 0
        self._end_sent = False
        self._failure = None
        self.begin()

    def _check(self) -> None:
        self.check_provider()
        if self._closed:
            raise ProviderError(self._name, "the stream is closed", retryable=False)
        if self._broken is not None:
            raise self._broken


def joined(parts: Sequence[Recognition]) -> Recognition:
    """Return the parts of one utterance as one; language and emotion are those of the last."""
    *before, last = parts
    if not before:
        return last
    texts = [each.text for each in parts if each.text]
    text = "".join(
        words if not index or _wide(words[0]) or _wide(texts[index - 1][-1]) else f" {words}"
        for index, words in enumerate(texts)
    )
    return Recognition(text, language=last.language, emotion=last.emotion)


def _wide(character: str) -> bool:
    return character > "\u2e80"

"""A reply that a voice speaks in one session, and whose sound is told apart by its texts.

The vendor gets each text as soon as it is known, which makes the melody of a whole reply, and no
wait between two sentences. Its sound is one stream: which text is spoken is known by the vendor's
events, and where it has none by the length of the texts.
"""

from __future__ import annotations

import asyncio
import ssl
from abc import abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from vixio.core.audio import BYTES_PER_SAMPLE, pcm_seconds
from vixio.core.errors import ProviderError, ProviderTimeout, as_provider_error
from vixio.core.streams import closing
from vixio.core.tasks import cancel_and_wait
from vixio.providers.service_client import authorities
from vixio.providers.service_socket import SocketPool
from vixio.providers.spoken_text import clean, cost, split
from vixio.providers.tts import TTSProvider

FLUSH_S: Final = 1.0
"""Without a further text for so long, the session ends: some voices wait for the rest of a sentence
that is complete, and no vendor keeps a session for ever. The next text begins another one."""

LETTER_S: Final = 0.07
"""Of sound for a Latin letter, before anything is known of the voice."""

SAME: Final = 6
"""Letters by which a sentence of the vendor is found to be the beginning of a text."""


@dataclass(slots=True)
class Pace:
    """How long a voice speaks for a letter. Shared by the replies of a provider."""

    letter_s: float = LETTER_S

    def note(self, letters: int, seconds: float) -> None:
        """Take what a whole session was."""
        if letters and seconds:
            self.letter_s = (self.letter_s + seconds / letters) / 2


@dataclass(slots=True, eq=False)
class _Text:
    """A text of the reply, and its sound: None is its end."""

    text: str
    emotion: str
    pieces: list[str]
    letters: str
    sound: asyncio.Queue[bytes | ProviderError | None] = field(default_factory=asyncio.Queue)
    seconds: float = 0.0
    done: bool = False

    def end(self, what: ProviderError | None = None) -> None:
        if not self.done:
            self.done = True
            self.sound.put_nowait(what)


class SpokenReply(TTSProvider):
    """``longest``: characters that the vendor takes at once. ``timeout``: seconds for the first
    sound of a text, and for each next piece. ``emotions``: whether the voice has them."""

    def __init__(
        self,
        name: str,
        sample_rate: int,
        pace: Pace,
        *,
        longest: int,
        timeout: float,
        emotions: bool = False,
    ) -> None:
        self.name = name
        self.sample_rate = sample_rate
        self._pace = pace
        self._longest = longest
        self._timeout = timeout
        self._emotions = emotions
        self._expected: deque[_Text] = deque()
        """Not asked for yet."""
        self._unsent: deque[_Text] = deque()
        self._spoken: deque[_Text] = deque()
        """Sent in this session, and not over."""
        self._more = asyncio.Event()
        self._over = asyncio.Event()
        self._complete = self._left = self._opening = False
        self._failure: ProviderError | None = None
        self._task: asyncio.Task[None] | None = None
        self._heard = 0
        """Letters of the sentences that are over, beyond those of the texts that are."""
        self._told = False
        """Whether the vendor tells where its sentences end."""
        self._letters, self._seconds = 0, 0.0
        self._odd = b""

    # ── what a vendor brings ─────────────────────────────────────────────────────────────────

    @abstractmethod
    async def open(self, emotion: str) -> None:
        """Begin a session, until texts may be sent. Raises ProviderError."""

    @abstractmethod
    async def send(self, text: str) -> None:
        """Send a text, or a part of one. Raises ProviderError."""

    @abstractmethod
    async def finish(self) -> None:
        """Say that the session has no further text. Raises ProviderError."""

    @abstractmethod
    def end(self, *, whole: bool) -> None:
        """End the session, if there is one; ``whole``: it is over, else it is called off.

        Must return at once.
        """

    @abstractmethod
    def alone(self) -> SpokenReply:
        """Return another reply of the same voice, for a text that nobody expected."""

    def check_provider(self) -> None:
        """Raise ProviderError if the provider is closed."""

    # ── what a vendor's session tells ────────────────────────────────────────────────────────

    def sound(self, pcm: bytes) -> None:
        """Take sound; it may end in the middle of a sample."""
        pcm = self._odd + pcm
        whole = len(pcm) - len(pcm) % BYTES_PER_SAMPLE
        pcm, self._odd = pcm[:whole], pcm[whole:]
        if not pcm or not self._spoken:
            return
        text = self._spoken[0]
        guess = cost(text.text) * self._pace.letter_s
        if not self._told and len(self._spoken) > 1 and text.seconds >= guess:
            self._advance()
            text = self._spoken[0]
        seconds = pcm_seconds(pcm, self.sample_rate)
        text.seconds += seconds
        self._seconds += seconds
        text.sound.put_nowait(pcm)

    def sentence_begins(self, words: str) -> None:
        """Take the words of a sentence of the vendor's that begins."""
        found = _letters(words)
        if len(self._spoken) > 1 and self._spoken[0].seconds and found:
            self._told = True
            size = min(SAME, len(found), len(self._spoken[1].letters))
            if size and found[:size] == self._spoken[1].letters[:size]:
                self._advance()

    def sentence_ends(self, words: str) -> None:
        """Take the words of a sentence of the vendor's that is over."""
        if found := _letters(words):
            self._told = True
            self._heard += len(found)
            self._settle()

    def finished(self) -> None:
        """Note that the session is over, and all of its sound has come."""
        while self._spoken:
            self._spoken.popleft().end()
        self._heard = 0
        self._over.set()

    def failed(self, error: ProviderError) -> None:
        """Note that the session serves no longer."""
        if self._opening and error.retryable:
            return  # :meth:`open` raises it, or opens another: nothing is lost yet
        self._failure = self._failure or error
        for text in (*self._spoken, *self._unsent):
            text.end(self._failure)
        self._spoken.clear()
        self._unsent.clear()
        self._over.set()
        self._more.set()

    # ── the voice of a reply ─────────────────────────────────────────────────────────────────

    async def start(self) -> None:
        """Has no effect: the provider is started."""

    async def close(self) -> None:
        """Has no effect: the provider is closed."""

    def expect(self, text: str, *, language: str = "", emotion: str = "") -> None:
        pieces = list(split(clean(text), lambda _: self._longest))
        made = _Text(text, emotion if self._emotions else "", pieces, _letters("".join(pieces)))
        self._expected.append(made)
        if not pieces or self._failure is not None:
            made.end(self._failure)
            return
        self._unsent.append(made)
        self._more.set()
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name=f"{self.name} reply")

    def complete(self) -> None:
        self._complete = True
        self._more.set()

    async def leave(self) -> None:
        self._left = True
        task, self._task = self._task, None
        if task is not None:
            await cancel_and_wait(task)
        self.failed(ProviderError(self.name, "the reply is over", retryable=False))

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        self.check_provider()
        mine = self._take(text)
        if mine is None:
            reply = self.alone()
            reply.expect(text, language=language)
            reply.complete()
            try:
                async for pcm in reply.synthesize(text, language=language):
                    yield pcm
            finally:
                await reply.leave()
            return
        while True:
            try:
                async with asyncio.timeout(self._timeout):
                    piece = await mine.sound.get()
            except TimeoutError:
                raise ProviderTimeout(self.name, "audio", self._timeout) from None
            self.check_provider()
            if piece is None:
                return
            if isinstance(piece, ProviderError):
                raise piece
            yield piece

    def _take(self, text: str) -> _Text | None:
        if not any(each.text == text for each in self._expected):
            return None
        while (first := self._expected.popleft()).text != text:
            pass  # nobody asked for it
        return first

    async def _run(self) -> None:
        try:
            while await self._wait():
                await self._session()
                self.end(whole=True)
        except Exception as error:  # noqa: BLE001 - a defect fails the reply, and is heard there
            self.failed(as_provider_error(self.name, error))
        finally:
            # Who listens may leave at the last sound, before this task has seen the end.
            self.end(whole=self._over.is_set() and self._failure is None)

    async def _wait(self) -> bool:
        """Wait for a text; return whether there is one."""
        while not self._unsent:
            if self._complete or self._failure is not None:
                return False
            await self._more.wait()
            self._more.clear()
        return True

    async def _session(self) -> None:
        """Speak what comes in time and has the same emotion."""
        self._over.clear()
        self._odd, self._letters, self._seconds = b"", 0, 0.0
        emotion = self._unsent[0].emotion
        self._opening = True
        try:
            async with asyncio.timeout(self._timeout):
                await self.open(emotion)
        except TimeoutError:
            raise ProviderTimeout(self.name, "session", self._timeout) from None
        finally:
            self._opening = False
        while self._unsent and self._unsent[0].emotion == emotion:
            text = self._unsent.popleft()
            self._spoken.append(text)
            self._letters += cost(text.text)
            self._settle()
            for piece in text.pieces:
                await self.send(piece)
            if not self._unsent and not self._complete:
                self._more.clear()
                try:
                    async with asyncio.timeout(FLUSH_S):
                        await self._more.wait()
                except TimeoutError:
                    break
        if self._failure is None:
            await self.finish()
        await self._over.wait()
        if self._failure is not None:
            raise self._failure
        self._pace.note(self._letters, self._seconds)

    def _settle(self) -> None:
        """End what is over. The last text stays: the vendor may count its letters otherwise."""
        while len(self._spoken) > 1 and self._heard >= len(self._spoken[0].letters):
            self._advance()

    def _advance(self) -> None:
        self._heard = max(0, self._heard - len(self._spoken[0].letters))
        self._spoken.popleft().end()


def _letters(text: str) -> str:
    return "".join(each for each in text.lower() if each.isalnum())


class ReplyVoice(TTSProvider):
    """A voice that speaks each reply in one session.

    ``sockets``: its connections, to an address that is ``secure`` or not. ``replies``: those that
    have a session.
    """

    def __init__(
        self, name: str, sample_rate: int, sockets: SocketPool[Any], *, secure: bool
    ) -> None:
        self.name, self.sample_rate, self.sockets = name, sample_rate, sockets
        self.pace = Pace()
        self.replies: set[SpokenReply] = set()
        self.context: ssl.SSLContext | None = None
        self._secure, self._started = secure, False

    @abstractmethod
    def headers(self) -> Mapping[str, str]:
        """Return who asks. Raises ProviderUnavailable without a key."""

    @abstractmethod
    def turn(self) -> SpokenReply:
        """Return the voice of one reply, which is one session."""

    async def start(self) -> None:
        """Read the certificates, in a thread. Raises ProviderUnavailable without a key."""
        self.sockets.check()
        self.headers()
        if not self._started and self._secure:
            self.context = await asyncio.to_thread(authorities)
        self._started = True

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Speak a text that is a reply of its own. Raises ProviderError."""
        self.check()
        reply = self.turn()
        try:
            async with closing(reply.synthesize(text, language=language)) as speech:
                async for pcm in speech:
                    yield pcm
        finally:
            await reply.leave()

    async def close(self) -> None:
        """Fail the speech in progress, and close the connections. Idempotent."""
        gone = ProviderError(self.name, "the provider is closed", retryable=False)
        for reply in list(self.replies):
            reply.failed(gone)
        await self.sockets.close()

    def check(self) -> None:
        """Raise ProviderError before :meth:`start` and after :meth:`close`."""
        self.sockets.check()
        if not self._started:
            raise ProviderError(self.name, "it is not started", retryable=False)

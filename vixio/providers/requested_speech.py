"""A voice that gets a request over HTTP for each text, and answers with its sound.

What all vendors have in common: texts are cleaned and cut to what a request takes, sound is waited
for so long and no longer, and goes on in whole samples.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import AsyncIterator
from typing import Final

from vixio.core.audio import BYTES_PER_SAMPLE, pcm_bytes
from vixio.core.errors import ProviderError
from vixio.core.streams import bounded, closing
from vixio.providers.service_answer import ServerAnswer
from vixio.providers.service_client import ServiceClient
from vixio.providers.spoken_text import clean, split
from vixio.providers.tts import TTSProvider

LONGEST_S: Final = 30.0
SLOWEST_S: Final = 1.0
"""Limit of the speech of one text: 30 s, and 1 s more for each character. A number or an
abbreviation takes some seconds, at the lowest speed four times as long."""


class RequestedSpeech(TTSProvider):
    """``client``: asks the vendor. ``longest``: characters of a request. ``timeout``: seconds for
    the first sound of a text, and for each next piece. ``emotions``: whether the voice has them."""

    def __init__(
        self,
        name: str,
        sample_rate: int,
        client: ServiceClient,
        *,
        longest: int,
        timeout: float,
        emotions: bool = False,
    ) -> None:
        self.name = name
        self.sample_rate = sample_rate
        self.client = client
        self._longest = longest
        self._timeout = timeout
        self._emotions = emotions

    @abstractmethod
    async def request(self, text: str, language: str, emotion: str) -> ServerAnswer:
        """Ask for the sound of a text; language and emotion may be empty. Raises ProviderError."""

    @abstractmethod
    def sound(self, answer: ServerAnswer) -> AsyncIterator[bytes]:
        """Yield the PCM of an answer, which may be cut within a sample. Raises ProviderError."""

    async def start(self) -> None:
        """Prepare the client. Raises ProviderUnavailable without a key."""
        await self.client.start()

    def turn(self) -> TTSProvider:
        """Return the voice of one reply, which knows the emotions of its texts."""
        return _Reply(self) if self._emotions else self

    async def synthesize(
        self, text: str, *, language: str = "", emotion: str = ""
    ) -> AsyncIterator[bytes]:
        """Yield PCM as it arrives; nothing if ``text`` holds no letter or digit.

        Closing the iterator ends the request. Raises ProviderError.
        """
        self.client.check()
        for piece in split(clean(text), lambda _: self._longest):
            left = pcm_bytes(LONGEST_S + SLOWEST_S * len(piece), self.sample_rate)
            odd = b""
            speech = bounded(
                self._speak(piece, language, emotion),
                provider=self.name,
                what="audio",
                first=self._timeout,
                next=self._timeout,
            )
            async with closing(speech) as pieces:
                async for sound in pieces:
                    self.client.check()
                    pcm = odd + sound
                    whole = len(pcm) - len(pcm) % BYTES_PER_SAMPLE
                    pcm, odd = pcm[:whole], pcm[whole:]
                    if pcm:
                        yield pcm
                    left -= whole
                    if left < 0:
                        raise ProviderError(self.name, "the speech has no end", reason="service")

    async def close(self) -> None:
        """End the speech in progress and close the connections. Idempotent."""
        await self.client.close()

    async def _speak(self, text: str, language: str, emotion: str) -> AsyncIterator[bytes]:
        client = self.client
        answer = await client.retried(lambda: self.request(text, language, emotion))
        try:
            async with closing(self.sound(answer)) as pieces:
                while (piece := await client.run(_next(pieces))) is not None:
                    yield piece
        finally:
            answer.close()


class _Reply(TTSProvider):
    """A reply, whose texts have emotions."""

    def __init__(self, voice: RequestedSpeech) -> None:
        self.name, self.sample_rate = voice.name, voice.sample_rate
        self._voice = voice
        self._expected: deque[tuple[str, str]] = deque()

    async def start(self) -> None:
        """Has no effect: the provider is started."""

    async def close(self) -> None:
        """Has no effect: the provider is closed."""

    def expect(self, text: str, *, language: str = "", emotion: str = "") -> None:
        self._expected.append((text, emotion))

    def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        emotion = ""
        if any(text == each for each, _ in self._expected):
            while (expected := self._expected.popleft())[0] != text:
                pass  # nobody asked for it
            emotion = expected[1]
        return self._voice.synthesize(text, language=language, emotion=emotion)


async def _next(pieces: AsyncIterator[bytes]) -> bytes | None:
    return await anext(pieces, None)

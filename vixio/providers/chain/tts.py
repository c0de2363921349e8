"""Several voices: where one fails, the next one speaks from the first unspoken sentence on."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing

from vixio.core.audio import BYTES_PER_SAMPLE, pcm_bytes
from vixio.core.errors import ProviderError
from vixio.core.streams import bounded
from vixio.providers.chain.health import RestSettings
from vixio.providers.chain.members import Chain, Member, Members, patience
from vixio.providers.tts import TTSProvider

CHAIN_RATE = 24_000
"""Hz. What most services speak at and devices are sent by default, so most pass as they are."""


TAIL_BYTES = pcm_bytes(0.01, CHAIN_RATE)
"""Of a sentence that breaks off, which fade: an edge would be heard as a click."""


class ChainTTSProvider(Chain[TTSProvider], TTSProvider):
    """``seconds``: for a sentence's first audio, all voices together, and for each next piece."""

    sample_rate = CHAIN_RATE

    def __init__(
        self,
        providers: Sequence[TTSProvider],
        seconds: float = 8.0,
        rest: RestSettings | None = None,
    ) -> None:
        self.members = Members("tts", providers, rest)
        self.name = self.members.name
        self.seconds = seconds

    def turn(self) -> ChainVoice:
        """Return the voice of one reply: who fails in it is not asked again in it."""
        return ChainVoice(self)

    def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Speak a sentence that is a turn of its own."""
        return self.turn().synthesize(text, language=language)


class ChainVoice(TTSProvider):
    """A chain as one turn uses it. ``name`` is that of the voice which speaks."""

    sample_rate = CHAIN_RATE

    def __init__(self, chain: ChainTTSProvider) -> None:
        self.name = chain.name
        self._chain = chain
        self._failed: set[Member[TTSProvider]] = set()

    async def start(self) -> None:
        """The chain is what is started."""

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Speak with the first that can. One that breaks off in the middle is cut off there.

        What was heard stays as it is, and the next sentence is another voice's. Raises the first
        one's failure when there is nobody who could go on.
        """
        chain, members = self._chain, self._chain.members
        loop = asyncio.get_running_loop()
        deadline = loop.time() + chain.seconds
        plan = members.plan()
        plan = [each for each in plan if each not in self._failed] or plan
        first: ProviderError | None = None
        for position, member in enumerate(plan):
            left = len(plan) - position
            seconds = patience(chain.seconds, deadline - loop.time(), left)
            attempt = members.attempt(member)
            begun, tail = False, b""
            try:
                speech = member.provider.synthesize(text, language=language)
                if left > 1:
                    speech = bounded(
                        speech,
                        provider=member.name,
                        what="audio",
                        first=round(seconds, 2),
                        next=chain.seconds,
                    )
                async with aclosing(_at_rate(speech, member.provider)) as pieces:
                    async for pcm in pieces:
                        self.name = members.label(member)
                        begun = True
                        # The end is held back: it may be where the voice breaks off.
                        whole = tail + pcm
                        ready, tail = whole[:-TAIL_BYTES], whole[-TAIL_BYTES:]
                        if ready:
                            yield ready
                attempt.worked()
                if tail:
                    yield tail
                return
            except Exception as error:  # noqa: BLE001 - a member's defect is passed over as its errors are
                failure = attempt.failed(error)
                first = first or failure
                self._failed.add(member)
                if members.closed:
                    raise failure from None
                if begun and left == 1:
                    raise failure from None
                if begun:
                    yield _fading(tail)
                    return
            finally:
                if begun:
                    attempt.worked()  # a sentence that nobody listened to the end of
                attempt.over()
        raise first or ProviderError(chain.name, "there is nobody to ask", retryable=False)

    async def close(self) -> None:
        """The chain is what is closed."""


def _fading(pcm: bytes) -> bytes:
    samples = array("h", pcm)
    count = len(samples)
    return array(
        "h", (each * (count - number) // count for number, each in enumerate(samples))
    ).tobytes()


async def _at_rate(speech: AsyncIterator[bytes], voice: TTSProvider) -> AsyncGenerator[bytes, None]:
    """Bring a sentence to the chain's rate as one stream, so that no border can be heard."""
    try:
        resampler = None
        carry = b""
        async for pcm in speech:
            data = carry + pcm if carry else pcm
            whole = len(data) - len(data) % BYTES_PER_SAMPLE
            data, carry = data[:whole], data[whole:]
            if voice.sample_rate != CHAIN_RATE:
                if resampler is None:
                    from vixio.providers.audio_stream.mixing import Resampler

                    resampler = Resampler(voice.sample_rate, CHAIN_RATE)
                data = resampler.feed(data)
            if data:
                yield data
        if resampler is not None and (rest := resampler.feed(b"", last=True)):
            yield rest
    finally:
        close = getattr(speech, "aclose", None)
        if close is not None:
            await close()

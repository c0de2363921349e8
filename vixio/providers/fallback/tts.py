"""Several voices: where one fails, the next one speaks from the first unspoken sentence on."""

from __future__ import annotations

import asyncio
from array import array
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from vixio.core.audio import BYTES_PER_SAMPLE, pcm_bytes
from vixio.core.errors import ProviderError
from vixio.core.streams import bounded, closing
from vixio.providers.fallback.availability import Place
from vixio.providers.fallback.candidates import Candidate, Candidates, FallbackProvider
from vixio.providers.fallback.circuit_breaker import BreakerSettings
from vixio.providers.fallback.time_shares import equal_share
from vixio.providers.tts import TTSProvider

FALLBACK_RATE = 24_000
"""Hz. The rate of most services and of the audio to devices, so most speech is not resampled."""


TAIL_BYTES = pcm_bytes(0.01, FALLBACK_RATE)
"""End of a sentence that breaks off, which is faded: an edge would be heard as a click."""


class FallbackTTSProvider(FallbackProvider[TTSProvider], TTSProvider):
    """``seconds``: for a sentence's first audio, all voices together, and for each next piece."""

    sample_rate = FALLBACK_RATE

    def __init__(
        self,
        providers: Sequence[TTSProvider],
        seconds: float = 8.0,
        breaker: BreakerSettings | None = None,
        places: Sequence[Place] = (),
    ) -> None:
        self.candidates = Candidates("tts", providers, breaker, places)
        self.name = self.candidates.name
        self.seconds = seconds

    def turn(self) -> FallbackVoice:
        """Return the voice of one reply: a candidate that fails in it is not asked again in it."""
        return FallbackVoice(self)

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Speak a sentence that is a turn of its own."""
        turn = self.turn()
        try:
            async with closing(turn.synthesize(text, language=language)) as speech:
                async for pcm in speech:
                    yield pcm
        finally:
            await turn.leave()


@dataclass(frozen=True, slots=True)
class _Expected:
    """As of :meth:`~vixio.providers.tts.TTSProvider.expect`."""

    text: str
    language: str
    emotion: str


class FallbackVoice(TTSProvider):
    """The list as one turn uses it. ``name`` is that of the voice that speaks."""

    sample_rate = FALLBACK_RATE

    def __init__(self, provider: FallbackTTSProvider) -> None:
        self.name = provider.name
        self._provider = provider
        self._failed: set[Candidate[TTSProvider]] = set()
        self._speaking: Candidate[TTSProvider] | None = None
        self._turns: dict[Candidate[TTSProvider], TTSProvider] = {}
        self._expected: deque[_Expected] = deque()
        self._complete = False

    def expect(self, text: str, *, language: str = "", emotion: str = "") -> None:
        """Pass on to the voice that speaks, and to one that speaks in its place."""
        self._expected.append(_Expected(text, language, emotion))
        for turn in self._turns.values():
            turn.expect(text, language=language, emotion=emotion)

    def complete(self) -> None:
        """Pass on."""
        self._complete = True
        for turn in self._turns.values():
            turn.complete()

    async def leave(self) -> None:
        """End the reply of each voice that has spoken in it."""
        turns = list(self._turns.values())
        self._turns.clear()
        for turn in turns:
            await turn.leave()

    async def start(self) -> None:
        """Has no effect: the list is started as a whole."""

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Speak with the first that can. One that breaks off in the middle is cut off there.

        The next sentence is then spoken by another voice. Raises the first failure when no
        candidate is left.
        """
        candidates, limit = self._provider.candidates, self._provider.seconds
        loop = asyncio.get_running_loop()
        deadline = loop.time() + limit
        plan = self._plan()
        first: ProviderError | None = None
        self.typical = plan[0].group == candidates.all[0].group
        current = self._take(text)
        for position, candidate in enumerate(plan):
            left = [each.group for each in plan[position:]]
            seconds = equal_share(limit, deadline - loop.time(), left)
            attempt = candidates.attempt(candidate)
            begun, tail = False, b""
            turn = self._turn_of(candidate, current)
            try:
                speech = turn.synthesize(text, language=language)
                if len(left) > 1:
                    speech = bounded(
                        speech,
                        provider=candidate.name,
                        what="audio",
                        first=round(seconds, 2),
                        next=limit,
                    )
                async with aclosing(_at_rate(speech, candidate.provider)) as pieces:
                    async for pcm in pieces:
                        self.name = candidates.label(candidate)
                        self.pauses = candidate.provider.pauses
                        self._speaking = candidate
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
            except Exception as error:  # noqa: BLE001 - a defect counts as a failure
                failure = attempt.failed(error)
                first = first or failure
                self.typical = False
                self._failed.add(candidate)
                await self._end_turn(candidate)
                if candidates.closed:
                    raise failure from None
                if begun and len(left) == 1:
                    raise failure from None
                if begun:
                    yield _fading(tail)
                    return
            finally:
                if begun:
                    attempt.worked()  # its listener left before the end
                attempt.over()
        raise first or candidates.none_left()

    def _take(self, text: str) -> list[_Expected]:
        """Return what was expected as ``text``, which nobody asks for again: at most one."""
        if any(each.text == text for each in self._expected):
            while (first := self._expected.popleft()).text != text:
                pass  # it failed everywhere
            return [first]
        return []

    def _turn_of(
        self, candidate: Candidate[TTSProvider], current: Sequence[_Expected]
    ) -> TTSProvider:
        """Return the voice of the reply, which knows all that is still expected."""
        turn = self._turns.get(candidate)
        if turn is None:
            turn = self._turns[candidate] = candidate.provider.turn()
            for each in (*current, *self._expected):
                turn.expect(each.text, language=each.language, emotion=each.emotion)
            if self._complete:
                turn.complete()
        return turn

    async def _end_turn(self, candidate: Candidate[TTSProvider]) -> None:
        turn = self._turns.pop(candidate, None)
        if turn is not None:
            await turn.leave()

    def _plan(self) -> list[Candidate[TTSProvider]]:
        """Return the candidates to ask; within a group, the one that spoke before comes first."""
        plan = self._provider.candidates.plan()
        plan = [each for each in plan if each not in self._failed] or plan
        return sorted(plan, key=lambda each: (each.group, each is not self._speaking))

    async def close(self) -> None:
        """Has no effect: the list is closed as a whole."""


def _fading(pcm: bytes) -> bytes:
    samples = array("h", pcm)
    count = len(samples)
    return array(
        "h", (each * (count - number) // count for number, each in enumerate(samples))
    ).tobytes()


async def _at_rate(speech: AsyncIterator[bytes], voice: TTSProvider) -> AsyncGenerator[bytes, None]:
    """Resample a sentence to FALLBACK_RATE as one stream, so that no border can be heard."""
    try:
        resampler = None
        carry = b""
        async for pcm in speech:
            data = carry + pcm if carry else pcm
            whole = len(data) - len(data) % BYTES_PER_SAMPLE
            data, carry = data[:whole], data[whole:]
            if voice.sample_rate != FALLBACK_RATE:
                if resampler is None:
                    from vixio.providers.audio_stream.mixing import Resampler

                    resampler = Resampler(voice.sample_rate, FALLBACK_RATE)
                data = resampler.feed(data)
            if data:
                yield data
        if resampler is not None and (rest := resampler.feed(b"", last=True)):
            yield rest
    finally:
        close = getattr(speech, "aclose", None)
        if close is not None:
            await close()

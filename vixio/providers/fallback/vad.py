"""Several detectors: where one fails, the stream goes over to the next in mid-stream.

Windows differ between detectors; the list's are the longest of them. The probability of a window of
the list is the highest of those of the detector's windows that end in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from vixio.core.audio import BYTES_PER_SAMPLE, LISTEN_RATE, pcm_seconds
from vixio.core.errors import ProviderError, ProviderTimeout
from vixio.providers.fallback.candidates import Candidate, Candidates, FallbackProvider
from vixio.providers.fallback.circuit_breaker import BreakerSettings
from vixio.providers.vad import VADProvider, VADStream

CONTEXT_SAMPLES = LISTEN_RATE // 2
"""The last audio, which a detector gets first when it takes over: its network has a memory."""

ANSWER_SECONDS = 1.0
"""For one answer, while there is another detector; below the time-out of the VAD station."""


class FallbackVADProvider(FallbackProvider[VADProvider], VADProvider):
    """Detectors in order."""

    def __init__(
        self, providers: Sequence[VADProvider], breaker: BreakerSettings | None = None
    ) -> None:
        self.candidates = Candidates("vad", providers, breaker)
        self.name = self.candidates.name
        self.window_samples = max(each.window_samples for each in providers)

    def open(self) -> VADStream:
        """Return a fresh detector for one device. May be called before :meth:`start`."""
        return FallbackVADStream(self.candidates, self.window_samples)


@dataclass(slots=True)
class _Listening:
    """The stream since its last reset. Positions are in bytes since then."""

    audio: bytearray = field(default_factory=bytearray)
    """What the detector has not had yet, and before it the context for another detector."""
    audio_from: int = 0
    received: int = 0
    given: int = 0
    base: int = 0
    """Where the current detector began."""
    peaks: dict[int, float] = field(default_factory=dict)
    """The highest probability so far in each window of the list that is not complete yet."""
    last: float = 0.0

    def keep(self, pcm: bytes) -> None:
        self.audio += pcm
        self.received += len(pcm)

    def between(self, start: int, end: int) -> bytes:
        return bytes(self.audio[start - self.audio_from : end - self.audio_from])

    def trim(self) -> None:
        excess = self.given - CONTEXT_SAMPLES * BYTES_PER_SAMPLE - self.audio_from
        if excess > 0:
            del self.audio[:excess]
            self.audio_from += excess


class FallbackVADStream(VADStream):
    """One device's stream; at each reset the first detector has another chance."""

    def __init__(self, candidates: Candidates[VADProvider], window_samples: int) -> None:
        self._candidates = candidates
        self._window = window_samples * BYTES_PER_SAMPLE
        self._candidate: Candidate[VADProvider] | None = None
        self._stream: VADStream | None = None
        self._listening = _Listening()
        self._turn = asyncio.Lock()
        self._closed = False

    async def process(self, pcm: bytes) -> Sequence[float]:
        """Return the speech probability of each window of the list that ``pcm`` completes."""
        self._check()
        listening = self._listening
        start = listening.received
        listening.keep(pcm)
        end = listening.received
        async with self._turn:  # calls that overlap are answered one after another, in order
            if listening is not self._listening:
                return ()
            await self._hear(listening, end)
        return self._completed(listening, start, end)

    def reset(self) -> None:
        """Forget all audio and state."""
        self._listening = _Listening()
        if self._stream is None:
            return
        if self._best() is not self._candidate:
            self._leave()
        else:
            self._stream.reset()

    def close(self) -> None:
        """Release the state. Idempotent."""
        self._closed = True
        self._leave()

    def _check(self) -> None:
        if self._closed:
            raise ProviderError(self._candidates.name, "the stream is closed", retryable=False)

    def _best(self) -> Candidate[VADProvider] | None:
        try:
            return self._candidates.plan()[0]
        except ProviderError:
            return None

    def _leave(self) -> None:
        stream, self._stream, self._candidate = self._stream, None, None
        if stream is not None:
            stream.close()

    async def _hear(self, listening: _Listening, end: int) -> None:
        """Give the detector all audio up to ``end``, or another one if it fails."""
        plan = self._candidates.plan()
        if self._candidate in plan:  # the current detector keeps the stream, then come the others
            plan = [self._candidate, *(each for each in plan if each is not self._candidate)]
        first: ProviderError | None = None
        for position, candidate in enumerate(plan):
            attempt = self._candidates.attempt(candidate)
            try:
                await self._ask(listening, candidate, end, last=position + 1 == len(plan))
                attempt.worked()
                return
            except Exception as error:  # noqa: BLE001 - a defect counts as a failure
                if listening is not self._listening:
                    return  # reset meanwhile, which may have ended the detector's stream
                self._leave()
                self._refuse_if_over()
                failure = attempt.failed(error)
                first = first or failure
            finally:
                attempt.over()
        raise first or self._candidates.none_left()

    def _refuse_if_over(self) -> None:
        self._check()
        if self._candidates.closed:
            raise ProviderError(self._candidates.name, "the provider is closed", retryable=False)

    async def _ask(
        self, listening: _Listening, candidate: Candidate[VADProvider], end: int, *, last: bool
    ) -> None:
        if self._stream is None or self._candidate is not candidate:
            self._leave()
            self._candidate = candidate
            self._stream = candidate.provider.open()
            # Its windows begin where one of the list's does: equal ones then end together.
            whole = -(-listening.audio_from // self._window) * self._window
            listening.base = listening.given = min(whole, end)
        pcm = listening.between(listening.given, end)
        done = listening.given
        listening.given = max(end, done)
        # Packets are short; minutes at once may take as long as a slow machine needs.
        seconds = ANSWER_SECONDS + pcm_seconds(pcm, LISTEN_RATE) / 10
        try:
            async with asyncio.timeout(None if last else seconds):
                answers = await self._stream.process(pcm)
        except TimeoutError:
            raise ProviderTimeout(candidate.name, "answer", seconds) from None
        size = candidate.provider.window_samples * BYTES_PER_SAMPLE
        number = (done - listening.base) // size
        for probability in answers:
            number += 1
            window = (listening.base + number * size - 1) // self._window
            listening.peaks[window] = max(listening.peaks.get(window, 0.0), probability)
        listening.trim()

    def _completed(self, listening: _Listening, start: int, end: int) -> list[float]:
        probabilities: list[float] = []
        for window in range(start // self._window, end // self._window):
            listening.last = listening.peaks.get(window, listening.last)
            probabilities.append(listening.last)
        done = end // self._window
        if listening.peaks and min(listening.peaks) < done:
            kept = {each: peak for each, peak in listening.peaks.items() if each >= done}
            listening.peaks = kept
        return probabilities

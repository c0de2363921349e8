"""Several detectors: where one fails, the stream goes over to the next in mid-stream.

Windows differ between detectors; the chain's are the longest of them. The probability of one of
the chain's windows is the highest of those of the detector's windows that end in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from vixio.core.audio import BYTES_PER_SAMPLE, LISTEN_RATE, pcm_seconds
from vixio.core.errors import ProviderError, ProviderTimeout
from vixio.providers.chain.health import RestSettings
from vixio.providers.chain.members import Chain, Member, Members
from vixio.providers.vad import VADProvider, VADStream

CONTEXT_SAMPLES = LISTEN_RATE // 2
"""Of the last audio, which a detector hears first when it takes over: its network has a memory."""

ANSWER_SECONDS = 1.0
"""For one answer, as long as there is another detector; below the patience of the VAD station."""


class ChainVADProvider(Chain[VADProvider], VADProvider):
    """Detectors in their order."""

    def __init__(self, providers: Sequence[VADProvider], rest: RestSettings | None = None) -> None:
        self.members = Members("vad", providers, rest)
        self.name = self.members.name
        self.window_samples = max(each.window_samples for each in providers)

    def open(self) -> VADStream:
        """Return a fresh detector for one device. May be called before :meth:`start`."""
        return ChainVADStream(self.members, self.window_samples)


@dataclass(slots=True)
class _Listening:
    """The stream since its last reset. Positions are in bytes since then."""

    audio: bytearray = field(default_factory=bytearray)
    """What the detector has not had yet, and before it the context for another one."""
    audio_from: int = 0
    received: int = 0
    given: int = 0
    base: int = 0
    """Where the present detector began."""
    peaks: dict[int, float] = field(default_factory=dict)
    """The highest probability so far in each of the chain's windows that are not told yet."""
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


class ChainVADStream(VADStream):
    """One device's stream; at each reset the first detector has another chance."""

    def __init__(self, members: Members[VADProvider], window_samples: int) -> None:
        self._members = members
        self._window = window_samples * BYTES_PER_SAMPLE
        self._member: Member[VADProvider] | None = None
        self._stream: VADStream | None = None
        self._listening = _Listening()
        self._turn = asyncio.Lock()
        self._closed = False

    async def process(self, pcm: bytes) -> Sequence[float]:
        """Return the speech probability of each of the chain's windows that ``pcm`` completes."""
        self._check()
        listening = self._listening
        start = listening.received
        listening.keep(pcm)
        end = listening.received
        async with self._turn:  # calls that overlap are answered one after another, in order
            if listening is not self._listening:
                return ()
            await self._hear(listening, end)
        return self._told(listening, start, end)

    def reset(self) -> None:
        """Forget all audio and state."""
        self._listening = _Listening()
        if self._stream is None:
            return
        if self._best() is not self._member:
            self._leave()
        else:
            self._stream.reset()

    def close(self) -> None:
        """Release the state. Idempotent."""
        self._closed = True
        self._leave()

    def _check(self) -> None:
        if self._closed:
            raise ProviderError(self._members.name, "the stream is closed", retryable=False)

    def _best(self) -> Member[VADProvider] | None:
        try:
            return self._members.plan()[0]
        except ProviderError:
            return None

    def _leave(self) -> None:
        stream, self._stream, self._member = self._stream, None, None
        if stream is not None:
            stream.close()

    async def _hear(self, listening: _Listening, end: int) -> None:
        """Give the detector all audio up to ``end``; another one, if it fails."""
        plan = self._members.plan()
        if self._member in plan:  # who has the stream keeps it, then come the others
            plan = [self._member, *(each for each in plan if each is not self._member)]
        first: ProviderError | None = None
        for position, member in enumerate(plan):
            attempt = self._members.attempt(member)
            try:
                await self._ask(listening, member, end, last=position + 1 == len(plan))
                attempt.worked()
                return
            except Exception as error:  # noqa: BLE001 - a member's defect is passed over as its errors are
                if listening is not self._listening:
                    return  # reset meanwhile, which may have ended the detector's stream
                self._leave()
                self._refuse_if_over()
                failure = attempt.failed(error)
                first = first or failure
            finally:
                attempt.over()
        raise first or ProviderError(self._members.name, "there is nobody to ask")

    def _refuse_if_over(self) -> None:
        self._check()
        if self._members.closed:
            raise ProviderError(self._members.name, "it is closed", retryable=False)

    async def _ask(
        self, listening: _Listening, member: Member[VADProvider], end: int, *, last: bool
    ) -> None:
        if self._stream is None or self._member is not member:
            self._leave()
            self._member = member
            self._stream = member.provider.open()
            # Its windows begin where one of the chain's does: equal ones then end together.
            whole = -(-listening.audio_from // self._window) * self._window
            listening.base = listening.given = min(whole, end)
        pcm = listening.between(listening.given, end)
        done = listening.given
        listening.given = max(end, done)
        # Packets are short; who brings minutes at once waits as long as a slow machine takes.
        seconds = ANSWER_SECONDS + pcm_seconds(pcm, LISTEN_RATE) / 10
        try:
            async with asyncio.timeout(None if last else seconds):
                heard = await self._stream.process(pcm)
        except TimeoutError:
            raise ProviderTimeout(member.name, "answer", seconds) from None
        size = member.provider.window_samples * BYTES_PER_SAMPLE
        number = (done - listening.base) // size
        for probability in heard:
            number += 1
            window = (listening.base + number * size - 1) // self._window
            listening.peaks[window] = max(listening.peaks.get(window, 0.0), probability)
        listening.trim()

    def _told(self, listening: _Listening, start: int, end: int) -> list[float]:
        told: list[float] = []
        for window in range(start // self._window, end // self._window):
            listening.last = listening.peaks.get(window, listening.last)
            told.append(listening.last)
        done = end // self._window
        if listening.peaks and min(listening.peaks) < done:
            kept = {each: peak for each, peak in listening.peaks.items() if each >= done}
            listening.peaks = kept
        return told

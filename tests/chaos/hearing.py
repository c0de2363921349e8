"""VAD and ASR of the server under attack: the real detector, a reader of numbers, and faults."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence

from tests.chaos.faults import Defect, meet
from tests.chaos.marks import MAX_BYTES, vote
from tests.chaos.plan import Plan, device
from vixio.core.errors import ProviderError
from vixio.providers.asr import ASRProvider, ASRStream, Recognition, SpeechHints
from vixio.providers.vad import VADProvider, VADStream

MEGABYTES = 5_000_000

WORDS = "words-"
"""How the ids of devices begin that speak words instead of numbers."""


class FaultyVAD(VADProvider):
    """Another detector, until a fault is ordered."""

    def __init__(self, inner: VADProvider, plan: Plan) -> None:
        self.inner = inner
        self.name = inner.name
        self.window_samples = inner.window_samples
        self._plan = plan
        self.open_streams = 0

    async def start(self) -> None:
        """Load the detector."""
        await self.inner.start()

    def open(self) -> VADStream:
        """Return a detector for one device."""
        if self._plan.take("vad.open"):
            raise Defect("no detector")
        return _FaultyVADStream(self, self.inner.open(), self._plan)

    async def close(self) -> None:
        """Close the detector."""
        await self.inner.close()


class _FaultyVADStream(VADStream):
    def __init__(self, provider: FaultyVAD, inner: VADStream, plan: Plan) -> None:
        self._provider = provider
        self._inner = inner
        self._plan = plan
        self._open = True
        provider.open_streams += 1

    async def process(self, pcm: bytes) -> Sequence[float]:
        kind = self._plan.take("vad")
        await meet(kind, self._plan)
        if kind == "slow":
            await asyncio.sleep(0.15)
        if kind == "megabytes":
            return [0.0] * 200_000
        if kind == "nonsense":
            return [math.nan, math.inf, -7.0]
        return await self._inner.process(pcm)

    def reset(self) -> None:
        self._inner.reset()

    def close(self) -> None:
        if self._open:
            self._open = False
            self._provider.open_streams -= 1
        self._inner.close()


class NumberASR(ASRProvider):
    """Hears ``number N``, N being the number in the sound."""

    name = "numbers"

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.open_streams = 0
        self.words: ASRProvider | None = None
        """Listens to devices whose id begins with ``WORDS``, while there is one."""

    async def start(self) -> None:
        """Nothing is heavy."""

    def open(self, hints: SpeechHints) -> ASRStream:
        """Begin to listen."""
        if self.words is not None and device.get().startswith(WORDS):
            return self.words.open(hints)
        if self._plan.take("asr.open"):
            raise ProviderError(self.name, "no recogniser is free")
        return _NumberStream(self, self._plan)

    async def close(self) -> None:
        """Nothing to release."""


class _NumberStream(ASRStream):
    def __init__(self, provider: NumberASR, plan: Plan) -> None:
        self._provider = provider
        self._plan = plan
        self._pcm = bytearray()
        self._open = True
        provider.open_streams += 1

    async def feed(self, pcm: bytes) -> None:
        await meet(self._plan.take("asr.feed"), self._plan)
        if len(self._pcm) < MAX_BYTES:
            self._pcm += pcm

    async def finish(self) -> Recognition:
        kind = self._plan.take("asr")
        await meet(kind, self._plan)
        if kind == "slow":
            await asyncio.sleep(1.0)
        if kind == "megabytes":
            return Recognition("words " * (MEGABYTES // 6))
        if kind == "nonsense":
            return Recognition("number \ud800\x00\u202e", confidence=math.nan, language="../../x")
        number = vote(bytes(self._pcm))
        return Recognition("", rejected=True) if number is None else Recognition(f"number {number}")

    async def close(self) -> None:
        if self._open:
            self._open = False
            self._provider.open_streams -= 1
        if self._plan.take("asr.close"):
            raise Defect("a recogniser that cannot be closed")

"""A voice without processes: the second of those that stand around another.

eSpeak NG in its place would speak everything once more, and it passes the suite by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from tests.support.sounds import chirp
from vixio.core.audio import pcm_bytes
from vixio.core.errors import ProviderError
from vixio.providers.tts import TTSProvider

RATE = 22_050
"""Hz. Not what a fallback list speaks at, so that it has to resample."""

CHARACTER = pcm_bytes(0.05, RATE)
PIECE = pcm_bytes(0.12, RATE)


class HummingTTS(TTSProvider):
    """Hums for each letter and digit."""

    name = "humming"
    sample_rate = RATE

    def __init__(self) -> None:
        self._started = self._closed = False

    async def start(self) -> None:
        if self._closed:
            raise ProviderError(self.name, "closed", retryable=False)
        self._started = True

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        left = sum(map(str.isalnum, text)) * CHARACTER
        sound = chirp(RATE, 1.0).tobytes()
        while left and not self._closed and self._started:
            yield sound[: min(left, PIECE)]
            left -= min(left, PIECE)
            await asyncio.sleep(0)
        if left or self._closed or not self._started:
            raise ProviderError(self.name, "it is closed or not started", retryable=False)

    async def close(self) -> None:
        self._closed = True

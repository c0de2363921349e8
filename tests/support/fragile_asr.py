"""A recogniser that fails where a test wants it to."""

from __future__ import annotations

import asyncio

from vixio.core.errors import ProviderError
from vixio.providers.asr import ASRProvider, ASRStream, Recognition, SpeechHints

BROKEN = ProviderError("fragile", "out of order", reason="service")
FOREVER = 1_000.0


class FragileASR(ASRProvider):
    """Fails at the moment that ``at`` names: "open", "feed", "finish"."""

    name = "fragile"

    def __init__(self, at: str, error: Exception | None = BROKEN, feeds: int = 2) -> None:
        self.at = at
        self.error = error
        self.feeds = feeds
        self.opened = self.closed = 0

    async def start(self) -> None:
        if self.at == "start" and self.error is not None:
            raise self.error

    def open(self, hints: SpeechHints) -> ASRStream:
        self.opened += 1
        if self.at == "open" and self.error is not None:
            raise self.error
        return _FragileStream(self)

    async def close(self) -> None:
        pass


class _FragileStream(ASRStream):
    def __init__(self, asr: FragileASR) -> None:
        self._asr = asr
        self._feeds = 0

    async def _fail(self) -> None:
        if self._asr.error is None:
            await asyncio.sleep(FOREVER)
        else:
            raise self._asr.error

    async def feed(self, pcm: bytes) -> None:
        self._feeds += 1
        self.partial = f"{self._feeds} pieces"
        if self._asr.at == "feed" and self._feeds > self._asr.feeds:
            await self._fail()

    async def finish(self) -> Recognition:
        if self._asr.at == "finish":
            await self._fail()
        return Recognition("from the fragile one")

    async def close(self) -> None:
        self._asr.closed += 1

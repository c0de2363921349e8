"""One text through edge-tts: MP3 as it arrives, and an end to it at any time.

The package is used as it is (docs/dependencies.md). It streams through two generators, one within
the other, and closing the outer one leaves the inner one, with its socket, to the garbage
collector. So a task of its own runs both, and is cancelled: that unwinds them where they wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final

from vixio.core.errors import ProviderError, ProviderTimeout
from vixio.providers.edge_tts.settings import NAME, EdgeTTSSettings

if TYPE_CHECKING:
    from edge_tts import Communicate

BYTES_PER_SECOND: Final = 6_000
"""edge-tts asks for ``audio-24khz-48kbitrate-mono-mp3``."""

LONGEST: Final = 30 * BYTES_PER_SECOND
SLOWEST: Final = 2 * BYTES_PER_SECOND
"""A text takes at most half a minute and two seconds a character; what is more has no end."""

CLOSE_TIMEOUT: Final = 1.0
"""Seconds for the closing handshake."""

FAREWELL: Final = 0.3
"""Seconds that a whole sentence waits for it: edge-tts tells its end only when it is over."""


class Speech:
    """Asks for ``text`` at once; :meth:`pieces` gives what arrives."""

    def __init__(self, text: str, voice: str, settings: EdgeTTSSettings) -> None:
        self._text = text
        self._voice = voice
        self._settings = settings
        # Unbounded, but for LONGEST: waiting for room here would hold the generators where
        # a cancellation does not unwind them.
        self._arrived: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._failure: ProviderError | None = None
        self._communicate: Communicate | None = None
        self._task = asyncio.create_task(self._receive(), name="edge-tts")

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield MP3, cut anywhere. Raises ProviderError. Closing it ends the connection."""
        try:
            while (piece := await self._next()) is not None:
                yield piece
            if self._failure is not None:
                raise self._failure
        finally:
            await self.close()

    def fail(self, error: ProviderError) -> None:
        """End it with ``error`` for whoever listens."""
        self._failure = error
        self._task.cancel()
        while not self._arrived.empty():
            self._arrived.get_nowait()
        self._arrived.put_nowait(None)

    async def close(self) -> None:
        """End the connection, bounded. Idempotent."""
        self._task.cancel()
        done, _ = await asyncio.wait([self._task], timeout=CLOSE_TIMEOUT)
        if not done:
            self._task.cancel()  # out of the closing handshake; the socket is closed all the same
            await asyncio.wait([self._task])

    async def _next(self) -> bytes | None:
        limit = self._settings.timeout
        try:
            async with asyncio.timeout(min(FAREWELL, limit)):
                return await self._arrived.get()
        except TimeoutError:
            if self._whole():
                return None
        try:
            async with asyncio.timeout(max(0.0, limit - FAREWELL)):
                return await self._arrived.get()
        except TimeoutError:
            raise ProviderTimeout(NAME, "speech", limit) from None

    def _whole(self) -> bool:
        """Whether the service has said "turn.end": edge-tts counts a turn's bytes until then."""
        if self._communicate is None:
            return False
        state = self._communicate.state
        return bool(state["cumulative_audio_bytes"]) and not state["chunk_audio_bytes"]

    async def _receive(self) -> None:
        from edge_tts import Communicate

        from vixio.providers.edge_tts.errors import CAUGHT, classify

        settings = self._settings
        try:
            communicate = self._communicate = Communicate(
                self._text,
                self._voice,
                rate=settings.rate,
                pitch=settings.pitch,
                volume=settings.volume,
                proxy=settings.proxy,
                connect_timeout=settings.connect_timeout,
            )
            left = LONGEST + SLOWEST * len(self._text)
            async for message in communicate.stream():
                if message["type"] == "audio":
                    left -= len(message["data"])
                    if left < 0:
                        raise ProviderError(NAME, "the speech has no end", reason="service")
                    self._arrived.put_nowait(message["data"])
            if not self._whole():  # it takes a cut for an end
                raise ProviderError(NAME, "the service cut the connection", reason="service")
        except (*CAUGHT, ProviderError) as error:
            self._failure = classify(error, self._voice, settings.connect_timeout)
        finally:
            self._arrived.put_nowait(None)

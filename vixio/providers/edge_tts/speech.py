"""The synthesis of one text by edge-tts, which can be ended at any time.

The package is used unchanged (docs/installation.md). It streams through two nested generators, and
closing the outer one leaves the inner one, with its socket, to the garbage collector. Therefore a
task runs both: its cancellation unwinds them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final

from vixio.core.errors import ProviderError, ProviderTimeout
from vixio.core.tasks import cancel_and_wait
from vixio.providers.edge_tts.settings import NAME, EdgeTTSSettings

if TYPE_CHECKING:
    from edge_tts import Communicate

BYTES_PER_SECOND: Final = 6_000
"""edge-tts asks for ``audio-24khz-48kbitrate-mono-mp3``."""

LONGEST: Final = 30 * BYTES_PER_SECOND
SLOWEST: Final = 2 * BYTES_PER_SECOND
"""Bytes, the limit of one text: 30 s, and 2 s more for each character."""

CLOSE_TIMEOUT: Final = 1.0
"""Seconds for the closing handshake."""

FAREWELL: Final = 0.3
"""Seconds that a complete sentence waits for the closing handshake, with which edge-tts's stream
ends."""


class Speech:
    """Requests ``text`` at creation; :meth:`pieces` yields the MP3."""

    def __init__(self, text: str, voice: str, settings: EdgeTTSSettings) -> None:
        self._text = text
        self._voice = voice
        self._settings = settings
        # Bounded by LONGEST only: a cancellation does not unwind the generators while the task
        # waits for room in the queue.
        self._arrived: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._failure: ProviderError | None = None
        self._communicate: Communicate | None = None
        self._task = asyncio.create_task(self._receive(), name="edge-tts")

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield MP3 in arbitrary pieces. Closing it closes the connection. Raises ProviderError."""
        try:
            while (piece := await self._next()) is not None:
                yield piece
            if self._failure is not None:
                raise self._failure
        finally:
            await self.close()

    def fail(self, error: ProviderError) -> None:
        """End the speech: :meth:`pieces` raises ``error``."""
        self._failure = error
        self._task.cancel()
        while not self._arrived.empty():
            self._arrived.get_nowait()
        self._arrived.put_nowait(None)

    async def close(self) -> None:
        """Close the connection within a timeout. Idempotent."""
        self._task.cancel()
        done, _ = await asyncio.wait([self._task], timeout=CLOSE_TIMEOUT)
        if not done:
            # Ends the closing handshake; the socket is closed either way.
            await cancel_and_wait(self._task)

    async def _next(self) -> bytes | None:
        limit = self._settings.timeout
        try:
            async with asyncio.timeout(min(FAREWELL, limit)):
                return await self._arrived.get()
        except TimeoutError:
            # If the loop was blocked, the timeout and a piece may be due in the same iteration.
            if not self._arrived.empty():
                return self._arrived.get_nowait()
            if self._whole():
                return None
        try:
            async with asyncio.timeout(max(0.0, limit - FAREWELL)):
                return await self._arrived.get()
        except TimeoutError:
            raise ProviderTimeout(NAME, "speech", limit) from None

    def _whole(self) -> bool:
        """Return whether the service has sent "turn.end", which resets edge-tts's byte count."""
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
                proxy=settings.used_proxy,
                connect_timeout=settings.connect_timeout,
            )
            left = LONGEST + SLOWEST * len(self._text)
            async for message in communicate.stream():
                if message["type"] == "audio":
                    left -= len(message["data"])
                    if left < 0:
                        raise ProviderError(NAME, "the speech has no end", reason="service")
                    self._arrived.put_nowait(message["data"])
            if not self._whole():  # edge-tts does not report a lost connection
                raise ProviderError(NAME, "the service cut the connection", reason="service")
        except (*CAUGHT, ProviderError) as error:
            has_proxy = settings.proxy is not None
            limit = settings.connect_timeout
            self._failure = classify(error, self._voice, limit, has_proxy=has_proxy)
        finally:
            self._arrived.put_nowait(None)

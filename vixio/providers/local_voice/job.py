"""A piece of text that a thread synthesises and a device listens to."""

from __future__ import annotations

import asyncio
from collections import deque

from vixio.core.errors import ProviderError


class VoiceJob:
    """A piece of text on its way to becoming PCM. Made and read on the event loop."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.cancelled = False
        """Set by the loop, read by the thread before each piece of PCM."""
        self._loop = asyncio.get_running_loop()
        self._chunks: deque[bytes] = deque()
        self._ended = False
        self._error: ProviderError | None = None
        self._changed = asyncio.Event()

    async def next(self) -> bytes | None:
        """Return the next PCM, None at the end. Raises ProviderError."""
        while not self._chunks:
            if self._error is not None:
                raise self._error
            if self._ended:
                return None
            self._changed.clear()
            await self._changed.wait()
        return self._chunks.popleft()

    def cancel(self) -> None:
        """Make the thread leave this job at its next piece of PCM."""
        self.cancelled = True
        self._chunks.clear()

    def write(self, pcm: bytes) -> bool:
        """Hand ``pcm`` over from the thread; false if nobody wants more."""
        if self.cancelled:
            return False
        try:
            self._loop.call_soon_threadsafe(self._add, pcm)
        except RuntimeError:  # the loop is closed: nobody listens any more
            return False
        return True

    def end(self, error: ProviderError | None = None) -> None:
        """Say from the thread that no more comes."""
        try:
            self._loop.call_soon_threadsafe(self.finish, error)
        except RuntimeError:  # as above
            pass

    def finish(self, error: ProviderError | None = None) -> None:
        """Say on the loop that no more comes."""
        if not self._ended:
            self._ended = True
            self._error = error
            self._changed.set()

    def _add(self, pcm: bytes) -> None:
        if not self.cancelled:
            self._chunks.append(pcm)
            self._changed.set()

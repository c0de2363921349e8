"""PCM on its way from a model to the device that listens. Used on the event loop."""

from __future__ import annotations

import asyncio
from collections import deque

from vixio.core.errors import ProviderError


class AudioQueue:
    """Data as it comes, until the end or an error. Its length is bounded by its producer."""

    def __init__(self) -> None:
        self.cancelled = False
        """Whether the rest is not wanted. A thread that produces may read it."""
        self._chunks: deque[bytes] = deque()
        self._ended = False
        self._error: ProviderError | None = None
        self._changed = asyncio.Event()

    @property
    def done(self) -> bool:
        """Whether nothing more will come."""
        return self._ended

    async def next(self) -> bytes | None:
        """Return the next data, None at the end. Raises ProviderError."""
        while not self._chunks:
            if self._error is not None:
                raise self._error
            if self._ended:
                return None
            self._changed.clear()
            await self._changed.wait()
        return self._chunks.popleft()

    async def all(self) -> bytes:
        """Return all data. Raises ProviderError."""
        chunks: list[bytes] = []
        while (chunk := await self.next()) is not None:
            chunks.append(chunk)
        return b"".join(chunks)

    def add(self, data: bytes) -> None:
        """Take more data; after a cancellation it is dropped."""
        if not self.cancelled:
            self._chunks.append(data)
            self._changed.set()

    def cancel(self) -> None:
        """Drop what is there and what will come."""
        self.cancelled = True
        self._chunks.clear()

    def finish(self, error: ProviderError | None = None) -> None:
        """Note that nothing more will come. The first call counts."""
        if not self._ended:
            self._ended = True
            self._error = error
            self._changed.set()

"""Reads frames from an asyncio stream. Apart, since small worker processes have no event loop."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final, Generic

from vixio.core.framing import Frame, KindT, Unpacker

_READ_BYTES: Final = 1 << 16


class FrameReader(Generic[KindT]):
    """Reads frames from a stream. ``max_payload``: bytes of the longest payload there is."""

    def __init__(self, reader: asyncio.StreamReader, kinds: type[KindT], max_payload: int) -> None:
        self._reader = reader
        self._unpacker = Unpacker(kinds, max_payload)
        self._frames: deque[Frame[KindT]] = deque()

    @property
    def at_end(self) -> bool:
        """Whether the other end is gone and everything has been read."""
        return not self._frames and self._reader.at_eof()

    async def read(self) -> Frame[KindT] | None:
        """Return the next frame, None at the end, a broken connection included.

        Raises ValueError for a malformed frame.
        """
        while not self._frames:
            try:
                data = await self._reader.read(_READ_BYTES)
            except ConnectionError:
                return None
            if not data:
                return None
            self._frames.extend(self._unpacker.feed(data))
        return self._frames.popleft()

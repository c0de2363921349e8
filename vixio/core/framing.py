"""Frames between processes of one server: kind, number, size, payload.

Little-endian: both ends run on the same machine in the same version. Each protocol over it defines
its own kinds.
"""

from __future__ import annotations

import json
import struct
from collections import deque
from collections.abc import Iterator
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from vixio.core.well_formed import well_formed

if TYPE_CHECKING:
    import asyncio  # small worker processes have no event loop

_HEADER: Final = struct.Struct("<BIi")

KindT = TypeVar("KindT", bound=IntEnum)


class Frame(NamedTuple, Generic[KindT]):
    """One message; ``stream`` is the number of the utterance or request that it is about, or 0."""

    kind: KindT
    stream: int
    payload: bytes

    def json(self) -> Any:  # noqa: ANN401 - any JSON value
        """Return the payload parsed. Raises ValueError."""
        return json.loads(self.payload)


def pack(kind: IntEnum, stream: int = 0, payload: bytes | dict[str, Any] = b"") -> bytes:
    """Return a frame as bytes; a dict is sent as JSON."""
    if isinstance(payload, dict):
        text = json.dumps(payload, ensure_ascii=False, default=str)
        payload = well_formed(text).encode()
    return _HEADER.pack(kind, stream, len(payload)) + payload


class Unpacker(Generic[KindT]):
    """Cuts a byte stream into frames. ``max_payload``: bytes of the longest valid payload."""

    def __init__(self, kinds: type[KindT], max_payload: int) -> None:
        self._kinds = kinds
        self._max_payload = max_payload
        self._data = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame[KindT]]:
        """Take more bytes and yield the frames that they complete.

        Raises ValueError for a malformed frame.
        """
        self._data += data
        while len(self._data) >= _HEADER.size:
            kind, stream, size = _HEADER.unpack_from(self._data)
            if not 0 <= size <= self._max_payload:
                raise ValueError(f"a frame of {size} bytes")
            end = _HEADER.size + size
            if len(self._data) < end:
                return
            payload = bytes(self._data[_HEADER.size : end])
            del self._data[:end]
            yield Frame(self._kinds(kind), stream, payload)


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

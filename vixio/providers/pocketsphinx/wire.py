"""Frames on the pipes between the server and a worker: kind, utterance, size, payload.

Little-endian: both ends are the same machine and the same version.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, NamedTuple

_HEADER: Final = struct.Struct("<BIi")

MAX_PAYLOAD: Final = 4_000_000
"""Bytes; a device's whole tool list is some 10 KB."""


WORST_SCORE: Final = -500.0
"""The score of what fits no sentence at all."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """What the server tells a worker on its command line, as JSON."""

    model: str
    dictionary: str
    language: str
    decoders: int
    rejection: float
    max_seconds: float


class Kind(IntEnum):
    """What a frame is. The first five go to the worker, the others come from it."""

    PREPARE = 1
    """JSON: a grammar that will be wanted; PREPARED or FAILED tells when that is done."""
    OPEN = 2
    """JSON: an utterance begins, over this grammar."""
    AUDIO = 3
    """PCM at 16 kHz."""
    FINISH = 4
    CANCEL = 5
    READY = 6
    RESULT = 7
    """JSON: text, rejected, confidence, score."""
    FAILED = 8
    """JSON: why this utterance cannot be recognised."""
    UNUSABLE = 9
    """JSON: why the worker cannot work at all; it ends."""
    GRAMMAR = 10
    """JSON: about a grammar that was made, for the log."""
    PREPARED = 11


class Frame(NamedTuple):
    """One message; ``stream`` is 0 where it is about no utterance."""

    kind: Kind
    stream: int
    payload: bytes

    def json(self) -> Any:  # noqa: ANN401 - whatever was sent
        """Return the payload parsed."""
        return json.loads(self.payload)


def pack(kind: Kind, stream: int = 0, payload: bytes | dict[str, Any] = b"") -> bytes:
    """Return a frame as bytes; a dict is sent as JSON."""
    if isinstance(payload, dict):
        payload = json.dumps(payload, ensure_ascii=False, default=str).encode()
    return _HEADER.pack(kind, stream, len(payload)) + payload


class Unpacker:
    """Cuts a byte stream into frames. Raises ValueError when the other end writes nonsense."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Take more bytes and yield the frames that they complete."""
        self._data += data
        while len(self._data) >= _HEADER.size:
            kind, stream, size = _HEADER.unpack_from(self._data)
            if not 0 <= size <= MAX_PAYLOAD:
                raise ValueError(f"a frame of {size} bytes")
            end = _HEADER.size + size
            if len(self._data) < end:
                return
            payload = bytes(self._data[_HEADER.size : end])
            del self._data[:end]
            yield Frame(Kind(kind), stream, payload)

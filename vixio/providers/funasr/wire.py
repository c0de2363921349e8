"""Frames between the server and the process with the model: kind, utterance, size, payload.

Little-endian: both ends are the same machine and the same version.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, NamedTuple

NAME: Final = "funasr"

_HEADER: Final = struct.Struct("<BIi")

MAX_PAYLOAD: Final = 8_000_000
"""Bytes; the longest that is sent is one feed of audio."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """What the server tells the process on its command line, as JSON."""

    model: str
    """A model's id, or the absolute path of its folder."""
    hub: str
    device: str
    threads: int
    itn: bool
    chunk_size: tuple[int, ...]
    """Three numbers, in units of 60 ms."""
    max_batch: int
    max_batch_seconds: float
    gather_seconds: float
    options: dict[str, Any]
    """More of ``AutoModel``'s arguments."""


class Kind(IntEnum):
    """What a frame is. The first four go to the process, the others come from it."""

    OPEN = 1
    """JSON: an utterance begins; its language and hotwords."""
    AUDIO = 2
    """PCM at 16 kHz."""
    FINISH = 3
    CANCEL = 4
    READY = 5
    """JSON: the model is loaded; its class, and whether it hears as the user speaks."""
    UNUSABLE = 6
    """JSON: why it cannot be loaded; the process ends."""
    PARTIAL = 7
    """JSON: the words so far."""
    RESULT = 8
    """JSON: text as the model wrote it; batch, how many utterances shared its call."""
    FAILED = 9
    """JSON: why this utterance cannot be recognised."""


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
        payload = json.dumps(payload, ensure_ascii=False).encode("utf-8", "replace")
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

"""The binary frames of Volcengine's speech services, version 3: encoding and decoding, no I/O.

====== ==================================================================
byte   content; numbers are big-endian
====== ==================================================================
0      0x11: version 1, a header of one word
1      type in the upper half, flags in the lower one
2      serialization (0 raw, 1 JSON) and compression (0 none, 1 gzip)
3      0
4-     flags & 4: i32 event, and what belongs to it; flags & 1, of a recogniser's
       answer: i32 sequence; then u32 length and payload
====== ==================================================================

An error (type 15) has u32 code, u32 length and a text instead.
"""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final

from vixio.core.errors import ProviderError
from vixio.providers.volcengine.settings import NAME

_I32: Final = struct.Struct(">i")
_U32: Final = struct.Struct(">I")

MAX_PAYLOAD: Final = 4 * 2**20
"""Bytes of a payload that is unpacked: far beyond a transcript or a piece of sound."""

LAST: Final = 0b0010
SEQUENCE: Final = 0b0001
EVENT: Final = 0b0100


class Kind(IntEnum):
    """The types of frames."""

    FULL_CLIENT = 1
    AUDIO_CLIENT = 2
    FULL_SERVER = 9
    AUDIO_SERVER = 11
    ERROR = 15


class Event(IntEnum):
    """The events of the bidirectional voice."""

    START_CONNECTION = 1
    FINISH_CONNECTION = 2
    CONNECTION_STARTED = 50
    CONNECTION_FAILED = 51
    CONNECTION_FINISHED = 52
    START_SESSION = 100
    CANCEL_SESSION = 101
    FINISH_SESSION = 102
    SESSION_STARTED = 150
    SESSION_CANCELLED = 151
    SESSION_FINISHED = 152
    SESSION_FAILED = 153
    TASK_REQUEST = 200
    SENTENCE_START = 350
    SENTENCE_END = 351
    AUDIO = 352


_OF_CONNECTION: Final = range(1, 100)
"""Events that belong to no session."""

_SENTENCES: Final = (Event.SENTENCE_START, Event.SENTENCE_END)


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame of the server. ``event`` 0: none. ``id``: of the session, or of the connection.

    ``code``: of an error, whose text is the payload.
    """

    kind: int
    flags: int = 0
    event: int = 0
    id: str = ""
    payload: bytes = field(default=b"", repr=False)
    code: int = 0

    @property
    def last(self) -> bool:
        """Whether it is a recogniser's last one. The sign of the sequence does not tell."""
        return self.flags & LAST != 0

    def json(self) -> dict[str, Any]:
        """Return the payload, which is a JSON object. Raises ProviderError."""
        try:
            found = json.loads(self.payload or b"{}")
        except (ValueError, RecursionError):
            raise strange("a payload that is no JSON") from None
        if not isinstance(found, dict):
            raise strange("JSON that is no object")
        return found


def utterance(request: dict[str, Any]) -> bytes:
    """Return the first frame of an utterance."""
    return _frame(Kind.FULL_CLIENT, 0, 0x10, b"", _json(request))


def audio(pcm: bytes, *, last: bool = False) -> bytes:
    """Return a frame of audio; ``last``: the utterance ends with it."""
    return _frame(Kind.AUDIO_CLIENT, LAST if last else 0, 0x00, b"", pcm)


def event(number: Event, session: str = "", payload: dict[str, Any] | None = None) -> bytes:
    """Return an event of the bidirectional voice; those of a connection have no session."""
    head = _I32.pack(number)
    if number not in _OF_CONNECTION:
        head += _U32.pack(len(session)) + session.encode()
    return _frame(Kind.FULL_CLIENT, EVENT, 0x10, head, _json(payload or {}))


def read(data: str | bytes) -> Frame:
    """Return a frame of the server. Raises ProviderError if it is none."""
    if isinstance(data, str):
        raise strange("a frame of text")
    try:
        return _read(data)
    except (IndexError, struct.error):
        raise strange("a frame that is cut short") from None
    except UnicodeDecodeError:
        raise strange("an id that is no text") from None


def _read(data: bytes) -> Frame:
    if data[0] >> 4 != 1:
        raise strange("frames of another version")
    kind, flags, packing = data[1] >> 4, data[1] & 15, data[2] & 15
    at = 4 * (data[0] & 15)
    if kind == Kind.ERROR:
        (code,) = _U32.unpack_from(data, at)
        payload, _ = _field(data, at + 4)
        return Frame(kind, flags, payload=_unpacked(payload, packing), code=code)
    number, name = 0, b""
    if flags & EVENT:
        (number,) = _I32.unpack_from(data, at)
        name, at = _field(data, at + 4)
        if at == len(data) and number == Event.CONNECTION_FAILED:  # some send the payload alone
            return Frame(kind, flags, number, payload=_unpacked(name, packing))
    elif flags & SEQUENCE:
        at += 4
    if number in _SENTENCES:
        payload = data[at + 4 :]  # some servers count characters here
    else:
        payload, _ = _field(data, at)
    return Frame(kind, flags, number, name.decode(), _unpacked(payload, packing))


def _field(data: bytes, at: int) -> tuple[bytes, int]:
    (length,) = _U32.unpack_from(data, at)
    end = at + 4 + length
    if end > len(data):
        raise strange("a frame that is cut short")
    return data[at + 4 : end], end


def _unpacked(payload: bytes, packing: int) -> bytes:
    if not packing or not payload:
        return payload
    try:
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
        found = unpacker.decompress(payload, MAX_PAYLOAD)
    except zlib.error:
        raise strange("a payload that is not packed as it says") from None
    if unpacker.unconsumed_tail:
        raise strange(f"a payload of more than {MAX_PAYLOAD} bytes")
    return found


def _frame(kind: Kind, flags: int, form: int, head: bytes, payload: bytes) -> bytes:
    return bytes((0x11, kind << 4 | flags, form, 0)) + head + _U32.pack(len(payload)) + payload


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def strange(what: str) -> ProviderError:
    """Return the error of a server that sends something else."""
    return ProviderError(NAME, f"the server sends {what}: see url", reason="service")

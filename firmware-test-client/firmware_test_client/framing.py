"""The binary frames of the three protocol versions, as the firmware writes and reads them.

Source: main/protocols/protocol.h (BinaryProtocol2, BinaryProtocol3) and
main/protocols/websocket_protocol.cc (SendAudio, and the OnData callback in OpenAudioChannel).
All integers are big-endian.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

_V2 = struct.Struct(">HHIII")  # version, type, reserved, timestamp (ms), payload size
_V3 = struct.Struct(">BBH")  # type, reserved, payload size

TYPE_OPUS = 0
TYPE_JSON = 1


class FramingError(ValueError):
    """A frame that the firmware would read beyond its end, or with an invalid header.

    The firmware does not check this. The simulated device refuses such a frame and reports it as a
    violation.
    """


@dataclass(frozen=True, slots=True)
class AudioPacket:
    """One Opus packet with the time stamp of its frame (milliseconds, 0 when there is none)."""

    payload: bytes
    timestamp: int = 0


def pack(version: int, packet: AudioPacket) -> bytes:
    """The bytes of one WebSocket message (WebsocketProtocol::SendAudio)."""
    if version == 2:
        head = _V2.pack(2, TYPE_OPUS, 0, packet.timestamp & 0xFFFF_FFFF, len(packet.payload))
        return head + packet.payload
    if version == 3:
        return _V3.pack(TYPE_OPUS, 0, len(packet.payload)) + packet.payload
    return packet.payload


def unpack(version: int, data: bytes) -> AudioPacket:
    """Read one WebSocket message.

    Raises:
        FramingError: the header is cut off, or its size field disagrees with the frame.
    """
    if version == 2:
        if len(data) < _V2.size:
            raise FramingError(f"version 2 frame of {len(data)} bytes has no whole header")
        stated, type_, _, timestamp, size = _V2.unpack_from(data)
        body = data[_V2.size :]
        if stated != 2:
            raise FramingError(f"version 2 frame states version {stated}")
        return AudioPacket(_checked(2, type_, size, body), timestamp)
    if version == 3:
        if len(data) < _V3.size:
            raise FramingError(f"version 3 frame of {len(data)} bytes has no whole header")
        type_, _, size = _V3.unpack_from(data)
        return AudioPacket(_checked(3, type_, size, data[_V3.size :]))
    return AudioPacket(data)


def _checked(version: int, type_: int, size: int, body: bytes) -> bytes:
    if type_ != TYPE_OPUS:
        raise FramingError(f"version {version} frame of type {type_}, but only 0 (Opus) is played")
    if size != len(body):
        raise FramingError(f"version {version} frame states {size} bytes and has {len(body)}")
    return body

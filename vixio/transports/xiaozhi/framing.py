"""Binary frames of the three protocol versions, both directions. Integers are big-endian.

====== =========================================================================== =========
version layout                                                                      header
====== =========================================================================== =========
1      the packet                                                                  none
2      version:u16 type:u16 reserved:u32 timestamp:u32(ms) size:u32 payload        16 bytes
3      type:u8 reserved:u8 size:u16 payload                                        4 bytes
====== =========================================================================== =========

Source: the firmware's protocol.h (BinaryProtocol2, BinaryProtocol3) and websocket_protocol.cc
(SendAudio, OpenAudioChannel). The firmware does not check ``size`` when it receives and copies that
many bytes, so it has to be right.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final, Literal

Version = Literal[1, 2, 3]
VERSIONS: Final[tuple[Version, ...]] = (1, 2, 3)

Codec = Literal["opus", "pcm"]
CODECS: Final[tuple[Codec, ...]] = ("opus", "pcm")
"""What the payload of audio is. The firmware has Opus only; PCM is for clients without it."""

TYPE_OPUS: Final = 0
"""Of audio, also where that is PCM."""
TYPE_JSON: Final = 1

_HEADER_2: Final = struct.Struct(">HHIII")
_HEADER_3: Final = struct.Struct(">BBH")

MAX_PAYLOAD_3: Final = 0xFFFF
"""Largest payload (bytes) that the 16-bit size of version 3 can name."""


@dataclass(frozen=True, slots=True)
class BinaryFrame:
    """What one frame carries. ``timestamp_ms`` exists in version 2 only; it is 0 elsewhere.

    ``missing``: packets that were lost before it, as a carrier of its own states them in the
    reserved field of version 2.

    A device's timestamps are no capture clock: the firmware sends back those of the frames that it
    played while the microphone heard them, else 0 (audio_service.cc, PushTaskToEncodeQueue). Gaps
    in the microphone's audio cannot be read from them.
    """

    payload: bytes
    type: int = TYPE_OPUS
    timestamp_ms: int = 0
    missing: int = 0


def build_frame(version: Version, payload: bytes, timestamp_ms: int = 0, missing: int = 0) -> bytes:
    """Return the frame that carries a packet of audio. Raises ValueError if it cannot hold it."""
    if version == 2:
        stamp = timestamp_ms & 0xFFFF_FFFF
        return _HEADER_2.pack(2, TYPE_OPUS, missing, stamp, len(payload)) + payload
    if version == 3:
        if len(payload) > MAX_PAYLOAD_3:
            raise ValueError(f"a version 3 frame holds {MAX_PAYLOAD_3} bytes, not {len(payload)}")
        return _HEADER_3.pack(TYPE_OPUS, 0, len(payload)) + payload
    return payload


def parse_frame(version: Version, data: bytes) -> BinaryFrame | None:
    """Return what ``data`` carries, None if its header is short, wrong or names another size."""
    if version == 2:
        if len(data) < _HEADER_2.size:
            return None
        stated, type_, missing, timestamp_ms, size = _HEADER_2.unpack_from(data)
        if stated != 2 or size != len(data) - _HEADER_2.size:
            return None
        return BinaryFrame(data[_HEADER_2.size :], type_, timestamp_ms, missing)
    if version == 3:
        if len(data) < _HEADER_3.size:
            return None
        type_, _reserved, size = _HEADER_3.unpack_from(data)
        if size != len(data) - _HEADER_3.size:
            return None
        return BinaryFrame(data[_HEADER_3.size :], type_)
    return BinaryFrame(data)

"""Headers of MP3 frames (ISO 11172-3 §2.4.1, ISO 13818-3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

HEADER_BYTES: Final = 4

_MPEG1: Final = 3
_RESERVED_VERSION: Final = 1
_LAYER_3: Final = 1
_BITRATES: Final = {  # kbit/s; 0 is "free format", which is not supported
    True: (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    False: (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
_RATES: Final = {
    3: (44_100, 48_000, 32_000),
    2: (22_050, 24_000, 16_000),
    0: (11_025, 12_000, 8_000),
}


@dataclass(frozen=True, slots=True)
class FrameHeader:
    """``size``: bytes of the whole frame. ``samples``: per channel."""

    size: int
    samples: int
    sample_rate: int
    version: int


def parse_header(data: bytes | bytearray, at: int = 0) -> FrameHeader | None:
    """Return the header of the Layer III frame at ``at``; None if there is none."""
    if len(data) < at + HEADER_BYTES or data[at] != 0xFF or data[at + 1] & 0xE0 != 0xE0:
        return None
    version, layer = (data[at + 1] >> 3) & 3, (data[at + 1] >> 1) & 3
    bitrate, rate = data[at + 2] >> 4, (data[at + 2] >> 2) & 3
    if version == _RESERVED_VERSION or layer != _LAYER_3:
        return None
    if bitrate in (0, 15) or rate == 3:
        return None
    mpeg1 = version == _MPEG1
    samples = 1152 if mpeg1 else 576
    sample_rate = _RATES[version][rate]
    padding = (data[at + 2] >> 1) & 1
    size = samples // 8 * _BITRATES[mpeg1][bitrate] * 1000 // sample_rate + padding
    return FrameHeader(size, samples, sample_rate, version)


def begins_with_frames(data: bytes | bytearray, at: int = 0, *, final: bool = False) -> bool:
    """Return whether two consecutive frames start at ``at``. One header may be a coincidence.

    ``final``: ``data`` is the whole stream, so one frame that ends with it is enough.
    """
    first = parse_header(data, at)
    if first is None:
        return False
    if final and len(data) == at + first.size:
        return True
    second = parse_header(data, at + first.size)
    return second is not None and same_stream(first, second)


def same_stream(one: FrameHeader, other: FrameHeader) -> bool:
    """Return whether both can belong to one stream, in which only the bit rate changes."""
    return (one.version, one.sample_rate) == (other.version, other.sample_rate)

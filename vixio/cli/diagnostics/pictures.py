"""Pictures that are made in code: a plain colour, as PNG (RFC 2083)."""

from __future__ import annotations

import struct
import zlib

RED = (220, 20, 20)
BLUE = (20, 20, 220)

SIDE = 224
"""Pixels. Models that see cut a picture into patches of 14 to 32 pixels and refuse very small
ones; this is the size that the first of them were made for."""


def plain_png(colour: tuple[int, int, int], side: int = SIDE) -> bytes:
    """Return a square of ``side`` pixels in one colour (red, green, blue: 0 to 255)."""
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)  # 8 bits a channel, RGB
    row = b"\0" + bytes(colour) * side  # 0: no filter
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        (_chunk(b"IHDR", header), _chunk(b"IDAT", zlib.compress(row * side)), _chunk(b"IEND", b""))
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

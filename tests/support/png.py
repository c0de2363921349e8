"""PNG images of any size, made without a library."""

from __future__ import annotations

import struct
import zlib


def png(width: int, height: int, filler: int = 0) -> bytes:
    """Return a grey image; ``filler``: bytes of a chunk that readers pass over."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        checksum = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    pixels = zlib.compress((b"\0" + b"\x80" * width) * height)
    parts = (chunk(b"IHDR", header), chunk(b"IDAT", pixels), chunk(b"prVt", b"\0" * filler))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts) + chunk(b"IEND", b"")

"""Images are recognised by their content."""

from __future__ import annotations

import struct
import zlib

import pytest

from firmware_test_client.mcp.photo import PHOTO
from vixio.web.http.images import media_type


def png() -> bytes:
    def piece(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    head = struct.pack(">IIBBBBB", 4, 4, 8, 0, 0, 0, 0)
    rows = zlib.compress(b"\0\1\2\3\4" * 4)
    return b"\x89PNG\r\n\x1a\n" + piece(b"IHDR", head) + piece(b"IDAT", rows) + piece(b"IEND", b"")


PNG = png()
WEBP = b"RIFF" + (92).to_bytes(4, "little") + b"WEBPVP8 " + bytes(84)
GIF = b"GIF89a" + bytes(80) + b";"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (PHOTO, "image/jpeg"),
        (PHOTO + bytes(3), "image/jpeg"),
        (PNG, "image/png"),
        (WEBP, "image/webp"),
        (GIF, "image/gif"),
        (GIF + b"\0", "image/gif"),
    ],
)
def test_an_image_is_known(data: bytes, expected: str) -> None:
    assert media_type(data) == expected


@pytest.mark.parametrize(
    "data",
    [
        b"",
        PHOTO[:20],
        PHOTO[:-10],
        PNG[:-12],
        WEBP[:-20],
        GIF[:-1],
        b"<html>" + bytes(100),
        b"\x7fELF" + bytes(100),
        b"%PDF-1.7" + bytes(100),
        b"x" + PHOTO,
    ],
    ids=lambda data: repr(data[:6]),
)
def test_other_files_and_truncated_images_are_refused(data: bytes) -> None:
    assert media_type(data) == ""

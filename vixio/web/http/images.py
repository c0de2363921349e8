"""Recognises images by their content, not by a name or a header."""

from __future__ import annotations

_JPEG = b"\xff\xd8\xff"
_PNG = b"\x89PNG\r\n\x1a\n"

MIN_BYTES = 64
"""A smaller file is no image; a 1×1 JPEG already has more."""


def media_type(data: bytes) -> str:
    """Return the media type of a JPEG, PNG, WebP or GIF image that is whole; empty for all else.

    Signatures and ends as in ISO/IEC 10918-1 B.1.1.3 (SOI, EOI), PNG 5.2 (signature) and 11.2.5
    (IEND), RFC 9649 2.3 (the RIFF size) and GIF89a 17 and 27. A photo that was cut on its way is
    refused here, rather than paid for at a model that cannot read it.
    """
    if len(data) < MIN_BYTES:
        return ""
    if data.startswith(_JPEG):
        # Cameras pad the end with zeros or stray bytes up to a whole word.
        return "image/jpeg" if data.rfind(b"\xff\xd9", len(data) - MIN_BYTES) >= 0 else ""
    if data.startswith(_PNG):
        return "image/png" if data[-8:-4] == b"IEND" else ""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        size = int.from_bytes(data[4:8], "little") + 8
        return "image/webp" if size <= len(data) else ""
    if data[:6] in {b"GIF87a", b"GIF89a"}:
        return "image/gif" if data.rstrip(b"\0").endswith(b";") else ""
    return ""


def png_size(data: bytes) -> tuple[int, int]:
    """Return width and height of a PNG image in pixels (PNG 11.2.2, IHDR); 0 of all else."""
    if media_type(data) != "image/png" or data[12:16] != b"IHDR":
        return 0, 0
    return int.from_bytes(data[16:20]), int.from_bytes(data[20:24])

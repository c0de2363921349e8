"""Builds small ESP-IDF application images, from the description of the format."""

from __future__ import annotations

import hashlib
import struct
from functools import reduce
from operator import xor

DROM = 0x3C000020
IROM = 0x42000020


def application(
    version: str = "2.4.2",
    board: str = "bread-compact-wifi",
    *,
    chip_id: int = 9,
    flash_power: int = 4,
    project: str = "xiaozhi",
    elf_sha256: bytes = b"\x11" * 32,
    constants: bytes | None = None,
    code: bytes = b"\x5a" * 1000,
    hashed: bool = True,
    magic: int = 0xABCD5432,
) -> bytes:
    """Return an image. ``constants``: the strings of the program; None: those with the board."""
    description = struct.pack(
        "<II8x32s32s16s16s32s32s80x",
        magic,
        0,
        version.encode(),
        project.encode(),
        b"12:34:56",
        b"Nov 23 2026",
        b"v5.5.1",
        elf_sha256,
    )
    if constants is None:
        constants = b"\0%s/\0HTTP/\0" % board.encode()
        constants += b'{"capabilities":{"tools":{}},"serverInfo":{"name":"%s","version":"\0' % (
            board.encode()
        )
    return image([(DROM, description + constants), (IROM, code)], chip_id, flash_power, hashed)


def image(
    segments: list[tuple[int, bytes]], chip_id: int = 9, flash_power: int = 4, hashed: bool = True
) -> bytes:
    """Return an image of these segments, which are padded to four bytes."""
    data = struct.pack(
        "<BBBBIB3xHBHH4xB",
        *(0xE9, len(segments), 2, flash_power << 4 | 0xF, 0x40379918, 0xEE),
        *(chip_id, 0, 0, 99, int(hashed)),
    )
    checksum = 0xEF
    for address, raw in segments:
        segment = raw + bytes(-len(raw) % 4)
        data += struct.pack("<II", address, len(segment)) + segment
        checksum = reduce(xor, segment, checksum)
    data += bytes(15 - len(data) % 16) + bytes([checksum])
    return data + hashlib.sha256(data).digest() if hashed else data


def bootloader() -> bytes:
    """Return an image without an application description."""
    return image([(0x3FCE2820, b"\x50\0\0\0" + bytes(80)), (0x403C8700, b"\x13" * 64)])


def partition_table() -> bytes:
    """Return a partition table of two entries."""
    entries = ((1, 2, 0x9000, 0x4000, b"nvs"), (0, 0x10, 0x20000, 0x3F0000, b"ota_0"))
    rows = [b"\xaa\x50" + struct.pack("<BBII16s4x", *entry) for entry in entries]
    return b"".join(rows).ljust(0xC00, b"\xff")


def merged(application: bytes, bootloader_at: int = 0) -> bytes:
    """Return what `idf.py merge-bin` makes: bootloader, partition table and application."""
    data = bytearray(b"\xff" * (0x20000 + len(application)))
    loader = bootloader()
    data[bootloader_at : bootloader_at + len(loader)] = loader
    data[0x8000 : 0x8000 + 0xC00] = partition_table()
    data[0x20000:] = application
    return bytes(data)

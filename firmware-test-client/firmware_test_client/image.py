"""Firmware images: made for tests, and verified as the device does before it installs one.

The format is esp_image_header_t, esp_image_segment_header_t (esp_app_format.h) and esp_app_desc_t
(esp_app_desc.h) of ESP-IDF; the checks are those of esp_image_verify
(components/bootloader_support/src/esp_image_format.c). `esptool image-info` accepts these images.
"""

from __future__ import annotations

import functools
import hashlib
import operator
import random
import struct
from typing import Final

import numpy as np

from firmware_test_client.chips import APP_AT, APP_BYTES, CHIPS, PAGE_BYTES, Chip
from firmware_test_client.flash import App

HEADER: Final = struct.Struct("<BBBBIB3sHBHH4sB")
SEGMENT: Final = struct.Struct("<II")  # load address, bytes
DESCRIPTOR: Final = struct.Struct("<II8s32s32s16s16s32s32sHHB3s72s")
DESCRIPTOR_END: Final = HEADER.size + SEGMENT.size + DESCRIPTOR.size
IMAGE_MAGIC: Final = 0xE9
_DESCRIPTOR_MAGIC: Final = 0xABCD5432
_BOOTLOADER_MAGIC: Final = 80  # ESP_BOOTLOADER_DESC_MAGIC_BYTE
_PARTITION_MAGIC: Final = 0x50AA  # the bytes AA 50
_CHECKSUM_START: Final = 0xEF
_MAX_SEGMENTS: Final = 16
_MAX_SEGMENT_BYTES: Final = 0x1000000
_IDF: Final = "v5.5.1"
_DATE, _TIME = "Aug  1 2026", "00:00:00"


class ImageError(ValueError):
    """An image that the device refuses."""


def firmware_image(
    version: str,
    *,
    chip: str = "esp32s3",
    board: str = "simulated-board",
    project: str = "xiaozhi",
    size: int = 16_384,
    append_hash: bool = True,
) -> bytes:
    """A firmware for the device's slot, as `build/xiaozhi.bin` is.

    The board's name is inside as C strings, alone and as the beginning of the User-Agent, as
    SystemInfo::GetUserAgent brings it into the real binary. The same arguments give the same bytes.

    Args:
        chip: a name in `chips.CHIPS`.
        size: bytes of the file, rounded up to a multiple of 16; at least about 500.
        append_hash: append the SHA-256, as esptool does by default.
    """
    kind = CHIPS[chip]
    elf = hashlib.sha256(f"{project} {version} {board} {chip}".encode()).digest()
    names = (version, project, _TIME, _DATE, _IDF)
    descriptor = DESCRIPTOR.pack(
        _DESCRIPTOR_MAGIC, 0, b"", *(name.encode() for name in names), elf, 0, 99, 16, b"", b""
    )
    text = b"".join(f"{name}\0".encode() for name in (board, f"{board}/", project))
    code = bytes(64)
    around = HEADER.size + 2 * SEGMENT.size + len(code) + 16 + (32 if append_hash else 0)
    filler = max(0, size - around - len(descriptor) - len(text)) & ~3
    noise = random.Random(f"{version} {board}").randbytes(filler)  # noqa: S311  no secret
    constants = descriptor + text + bytes(-len(text) % 4) + noise
    at = kind.mapped[0] + HEADER.size + SEGMENT.size
    return _assemble(kind, [(at, constants), (kind.loaded, code)], append_hash=append_hash)


def merged_binary(app: bytes, *, chip: str = "esp32s3") -> bytes:
    """A whole flash as `merged-binary.bin` of the firmware's releases: not for an update.

    Bootloader at the chip's offset, partition table at 0x8000, `app` at 0x20000, as
    partitions/v2/16m.csv says. Gaps are 0xFF.
    """
    kind = CHIPS[chip]
    describes = bytes([_BOOTLOADER_MAGIC, 0, 0, 0]) + struct.pack("<I32s24s16s", 1, b"", b"", b"")
    bootloader = _assemble(kind, [(kind.loaded, describes + bytes(1024))], append_hash=True)
    pieces = {kind.bootloader_at: bootloader, 0x8000: _partition_table(), APP_AT["ota_0"]: app}
    flash = bytearray(b"\xff" * (APP_AT["ota_0"] + len(app)))
    for at, piece in pieces.items():
        flash[at : at + len(piece)] = piece
    return bytes(flash)


def _partition_table() -> bytes:
    rows = (
        (1, 0x02, 0x9000, 0x4000, "nvs"),
        (1, 0x00, 0xD000, 0x2000, "otadata"),
        (1, 0x01, 0xF000, 0x1000, "phy_init"),
        (0, 0x10, APP_AT["ota_0"], APP_BYTES, "ota_0"),
        (0, 0x11, APP_AT["ota_1"], APP_BYTES, "ota_1"),
        (1, 0x82, 0x800000, 0x800000, "assets"),
    )
    table = b"".join(
        struct.pack("<HBBII16sI", _PARTITION_MAGIC, kind, subtype, at, size, label.encode(), 0)
        for kind, subtype, at, size, label in rows
    )
    digest = hashlib.md5(table, usedforsecurity=False).digest()
    return (table + b"\xeb\xeb" + b"\xff" * 14 + digest).ljust(0xC00, b"\xff")


def _assemble(chip: Chip, segments: list[tuple[int, bytes]], *, append_hash: bool) -> bytes:
    header = HEADER.pack(
        IMAGE_MAGIC, len(segments), 2, 0x40, chip.loaded, 0xEE, b"", chip.image_id, 0, 0, 0xFFFF,
        b"", append_hash,
    )  # fmt: skip
    image = header + b"".join(SEGMENT.pack(at, len(data)) + data for at, data in segments)
    image += bytes(15 - len(image) % 16)
    image += bytes([_checksum([data for _, data in segments])])
    return image + hashlib.sha256(image).digest() if append_hash else image


def _checksum(segments: list[bytes]) -> int:
    sums = (int(np.bitwise_xor.reduce(np.frombuffer(data, np.uint8))) for data in segments)
    return functools.reduce(operator.xor, sums, _CHECKSUM_START)


def read_image(image: bytes, *, chip: str) -> App:
    """The firmware in an image, after all checks of the device.

    What follows the image in the file is not looked at, as in the device.

    Raises:
        ImageError: says why the device refuses the image.
    """
    kind = CHIPS[chip]
    fields = HEADER.unpack(_part(image, 0, HEADER.size))
    magic, count, chip_id, hash_appended = fields[0], fields[1], fields[7], fields[12]
    if magic != IMAGE_MAGIC:
        raise ImageError(f"magic byte 0x{magic:02X}, not 0x{IMAGE_MAGIC:02X}")
    if chip_id != kind.image_id:
        raise ImageError(f"chip id {chip_id}, this device has {kind.image_id} ({chip})")
    if count > _MAX_SEGMENTS:
        raise ImageError(f"{count} segments, more than {_MAX_SEGMENTS}")
    at, segments = HEADER.size, list[bytes]()
    for _ in range(count):
        load, length = SEGMENT.unpack(_part(image, at, SEGMENT.size))
        at += SEGMENT.size
        _check_segment(kind, load, length, at)
        segments.append(_part(image, at, length))
        at += length
    end = (at + 16) & ~15  # with at least one byte, the checksum, a multiple of 16
    if _part(image, end - 1, 1)[0] != _checksum(segments):
        raise ImageError("wrong checksum")
    if hash_appended and _part(image, end, 32) != hashlib.sha256(image[:end]).digest():
        raise ImageError("wrong SHA-256")
    if len(image) > APP_BYTES:
        raise ImageError(f"{len(image)} bytes, the slot has {APP_BYTES}")
    return _read_descriptor(segments[0] if segments else b"")


def _check_segment(chip: Chip, load: int, length: int, data_at: int) -> None:
    if length % 4 or length >= _MAX_SEGMENT_BYTES:
        raise ImageError(f"segment of {length} bytes")
    low, high = chip.mapped
    if low <= load < high and load % PAGE_BYTES != data_at % PAGE_BYTES:
        raise ImageError(f"segment at 0x{load:08X} does not fit its place in the file")


def _read_descriptor(data: bytes) -> App:
    """Read esp_app_desc_t at the beginning of the first segment.

    Where a bootloader has other bytes, esp_image_verify takes them for the chip revisions of the
    descriptor and refuses them; here the magic word decides.
    """
    if len(data) < DESCRIPTOR.size or data[:4] != struct.pack("<I", _DESCRIPTOR_MAGIC):
        raise ImageError("no app descriptor (0xABCD5432): a bootloader or merged binary?")
    _, _, _, *names, elf, _, _, _, _, _ = DESCRIPTOR.unpack_from(data)
    version, project, time, date, idf = (
        name.split(b"\0")[0].decode("utf-8", "replace") for name in names
    )
    return App(version, project, date, time, idf, elf.hex())


def _part(image: bytes, at: int, length: int) -> bytes:
    part = image[at : at + length]
    if len(part) < length:
        raise ImageError(f"the image ends after {len(image)} bytes, in the middle")
    return part

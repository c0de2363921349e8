"""ESP-IDF application images: what they are for, and whether they are whole.

The layout is that of ESP-IDF (esp_app_format: ``esp_image_format.h``, ``esp_app_desc.h``; its guide
"App Image Format"): a header of 24 bytes, segments of 8 + n bytes, padding up to a checksum in the
last byte of a block of 16, the SHA-256 of all that, and with secure boot a block of signatures.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from vixio.data.devices.firmware.errors import FirmwareError
from vixio.data.devices.firmware.versions import is_version

MAX_BYTES: Final = 16 * 1024 * 1024
"""More than any partition for applications: a flash of 32 MB has two of them."""

PIECE_BYTES: Final = 64 * 1024
"""What is held in memory of a file."""

CHIPS: Final = {
    0: "esp32",
    2: "esp32s2",
    5: "esp32c3",
    9: "esp32s3",
    12: "esp32c2",
    13: "esp32c6",
    16: "esp32h2",
    18: "esp32p4",
    20: "esp32c61",
    23: "esp32c5",
    25: "esp32h21",
    28: "esp32h4",
    32: "esp32s31",
}
"""``esp_chip_id_t``, in the spelling of ``chip_model_name`` (system_info.cc, GetChipModelName)."""

_HEADER: Final = struct.Struct("<BBBBIB3xHBHH4xB")
"""``esp_image_header_t``: magic, segments, flash mode, flash size and speed, entry, WP pin, chip
id, three revisions, whether a SHA-256 is appended. ``_HEADER_BYTES`` long."""

_HEADER_BYTES: Final = 24
_IMAGE_MAGIC: Final = 0xE9
_MAX_SEGMENTS: Final = 16
_SEGMENT: Final = struct.Struct("<II")

_DESCRIPTION_AT: Final = _HEADER_BYTES + _SEGMENT.size
_DESCRIPTION: Final = struct.Struct("<II8x32s32s16s16s32s32s")
"""The first 176 of the 256 bytes of ``esp_app_desc_t``: magic, secure version, version, project,
time, date, ESP-IDF, SHA-256 of the ELF file."""

_DESCRIPTION_MAGIC: Final = 0xABCD5432

_CHECKSUM_SEED: Final = 0xEF
_BLOCK: Final = 16
_DIGEST_BYTES: Final = 32

_SIGNED_BYTES: Final = (64 + 4) * 1024
"""What may follow an image: secure boot pads it to 64 KB and adds a sector of signatures."""

_TABLE_AT: Final = 0x8000
_TABLE: Final = re.compile(rb"\xaa\x50[\x00\x01].{9}[\x20-\x7e]{1,16}\x00", re.DOTALL)
"""The first entry of a partition table: magic, type, subtype, offset, size, label."""

_HEAD_BYTES: Final = _TABLE_AT + 64

_FLASH_BYTES: Final = tuple(1024 * 1024 << power for power in range(8))
"""By the upper half of the fourth byte of the header: 1 MB to 128 MB."""

_FLASH_BEFORE_APPLICATIONS: Final = 64 * 1024

_OVERLAP: Final = 256
"""Bytes of a piece that are searched again with the next one: more than the longest pattern."""

_BOARD_SURE: Final = re.compile(
    rb'"serverInfo":\{"name":"([A-Za-z0-9][A-Za-z0-9._-]{0,63})","version":"'
)
"""The answer to ``initialize`` is one string with BOARD_NAME in it (mcp_server.cc,
ParseMessage)."""

_BOARD_LIKELY: Final = re.compile(rb"\x00([a-z0-9][a-z0-9._-]{1,63})/(?=\x00)")
"""BOARD_NAME "/" is the begin of User-Agent (system_info.cc, GetUserAgent). Firmware from before
MCP has only this one."""

_MAX_BOARDS: Final = 16
"""Of a file that is no firmware, the rest is not kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirmwareImage:
    """What an image says of itself. It is whole: its checksum and its SHA-256 are right."""

    version: str
    """Digits and dots."""
    project: str
    """``xiaozhi``, or the name of a fork."""
    chip: str
    """As in :data:`CHIPS`."""
    boards: tuple[str, ...]
    """The board that it was built for. Several if that cannot be told from other strings in it;
    none in an image that is no firmware of such a device."""
    flash_bytes: int
    """Of the flash that it was built for."""
    idf_version: str
    built: str
    """Date and time, as the compiler wrote them."""
    size: int
    """Of the file, in bytes."""
    sha256: str
    """Of the file, in hexadecimal digits."""
    elf_sha256: str
    """Of the build's ELF file, which a device states as ``application.elf_sha256``."""


async def read_image(path: Path) -> FirmwareImage:
    """Read and check an image, in a thread. Raises FirmwareError, one line without the path."""
    return await asyncio.to_thread(read_image_file, path)


def read_image_file(path: Path) -> FirmwareImage:
    """Read and check an image piece by piece. Blocks; otherwise as :func:`read_image`."""
    try:
        with path.open("rb") as file:
            return _read(file, os.fstat(file.fileno()).st_size)
    except OSError as error:
        raise FirmwareError(f"cannot read it: {error.strerror or error}") from None


def _read(file: BinaryIO, size: int) -> FirmwareImage:
    head = file.read(_HEAD_BYTES)
    _refuse_other_files(head, size)
    file.seek(0)
    scan = _Scan(file, size)
    raw = scan.take(_HEADER_BYTES)
    fields = _HEADER.unpack(raw)
    segments, flash, chip_id, hashed = fields[1], fields[3] >> 4, fields[6], fields[10]
    if not 1 <= segments <= _MAX_SEGMENTS:
        raise FirmwareError(f"it is damaged: its header states {segments} segments")
    if chip_id not in CHIPS:
        raise FirmwareError(f"it is for a chip with the unknown number {chip_id}")
    checksum = _CHECKSUM_SEED
    finder = _BoardFinder()
    for number in range(segments):
        _, length = _SEGMENT.unpack(scan.take(_SEGMENT.size))
        for piece in scan.pieces(length):
            checksum ^= _xor(piece)
            if number == 0:  # the constants of the program, as the description at its begin
                finder.feed(piece)
    padded = scan.take(_BLOCK - scan.at % _BLOCK)
    if padded[-1] != checksum:
        raise FirmwareError("it is damaged: its checksum is wrong; copy it again from the build")
    digest = scan.digest()
    if hashed and scan.take(_DIGEST_BYTES) != digest:
        raise FirmwareError("it is damaged: its SHA-256 is wrong; copy it again from the build")
    if size - scan.at > _SIGNED_BYTES:
        raise FirmwareError(
            f"{size - scan.at} bytes follow the image in it: give the xiaozhi.bin of the build "
            "directory itself"
        )
    for _ in scan.pieces(size - scan.at):
        pass
    description = _DESCRIPTION.unpack_from(head, _DESCRIPTION_AT)
    version = _text(description[2])
    if not is_version(version):
        raise FirmwareError(
            f"its version is {version!r}: devices can only compare digits with dots, as 2.4.2; set "
            "PROJECT_VER in the firmware's CMakeLists.txt"
        )
    flash_bytes = _FLASH_BYTES[flash] if flash < len(_FLASH_BYTES) else 0
    _refuse_too_large(size, flash_bytes)
    return FirmwareImage(
        version=version,
        project=_text(description[3]),
        chip=CHIPS[chip_id],
        boards=finder.boards,
        flash_bytes=flash_bytes,
        idf_version=_text(description[6]),
        built=" ".join(filter(None, (_text(description[5]), _text(description[4])))),
        size=size,
        sha256=scan.file_digest(),
        elf_sha256=description[7].hex(),
    )


def _refuse_other_files(head: bytes, size: int) -> None:
    """Say of a file that is no application image what it is."""
    described = head[_DESCRIPTION_AT : _DESCRIPTION_AT + 4] == _DESCRIPTION_MAGIC.to_bytes(
        4, "little"
    )
    if not head:
        raise FirmwareError("it is empty")
    if head.startswith(b"PK\x03\x04"):
        raise FirmwareError(
            "it is a ZIP archive; those of releases have a merged-binary in them, which devices "
            "cannot update to: give the xiaozhi.bin of the build directory"
        )
    if head.startswith(b"\x7fELF"):
        raise FirmwareError("it is the ELF file; give the xiaozhi.bin that lies beside it")
    if _TABLE.match(head):
        raise FirmwareError("it is a partition table; give the xiaozhi.bin of the build directory")
    if not described and _TABLE.match(head, _TABLE_AT):
        raise FirmwareError(
            "it is a merged-binary for flashing by cable; give the xiaozhi.bin of the build "
            "directory instead"
        )
    if head[0] != _IMAGE_MAGIC:
        raise FirmwareError("it is no ESP image; give the xiaozhi.bin of the build directory")
    if len(head) < _DESCRIPTION_AT + _DESCRIPTION.size:
        raise FirmwareError(f"it is cut off after {len(head)} bytes; copy it again from the build")
    if not described:
        raise FirmwareError(
            "it is a bootloader or no application of ESP-IDF: it has no application description; "
            "give the xiaozhi.bin of the build directory"
        )
    if size > MAX_BYTES:
        raise FirmwareError(f"it has {size} bytes, more than any device can take ({MAX_BYTES})")


def _refuse_too_large(size: int, flash_bytes: int) -> None:
    """Refuse what cannot lie twice in the flash: the running image, and the one that arrives.

    The partition table of a device may have less room, which the device states
    (:attr:`~vixio.data.devices.firmware.offer.Stated.room`).
    """
    room = (flash_bytes - _FLASH_BEFORE_APPLICATIONS) // 2
    if flash_bytes and size > room:
        raise FirmwareError(
            f"it has {size} bytes; in a flash of {flash_bytes // 1024**2} MB, for which it was "
            f"built, each of the two OTA partitions has at most {room}"
        )


class _Scan:
    """Reads a file once, from its begin, and hashes it. Raises FirmwareError at its end."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self.at = 0
        self._file = file
        self._size = size
        self._sha256 = hashlib.sha256()

    def pieces(self, length: int) -> Iterator[bytes]:
        """Yield the next ``length`` bytes."""
        end = self.at + length
        if end > self._size:
            raise FirmwareError(
                f"it is cut off or damaged: it has {self._size} bytes and states {end}; copy it "
                "again from the build"
            )
        while self.at < end:
            piece = self._file.read(min(PIECE_BYTES, end - self.at))
            if not piece:
                raise FirmwareError("it became shorter while it was read")
            self.at += len(piece)
            self._sha256.update(piece)
            yield piece

    def take(self, length: int) -> bytes:
        """Return the next ``length`` bytes."""
        return b"".join(self.pieces(length))

    def digest(self) -> bytes:
        """Return the SHA-256 of what was read."""
        return self._sha256.digest()

    def file_digest(self) -> str:
        """Return it in hexadecimal digits."""
        return self._sha256.hexdigest()


class _BoardFinder:
    """Looks for the board's name in the constants of a program."""

    def __init__(self) -> None:
        self._tail = b""
        self._sure: dict[str, None] = {}
        self._likely: dict[str, None] = {}

    def feed(self, piece: bytes) -> None:
        data = self._tail + piece
        for pattern, found in ((_BOARD_SURE, self._sure), (_BOARD_LIKELY, self._likely)):
            for match in pattern.finditer(data):
                if len(found) < _MAX_BOARDS:
                    found[match[1].decode("ascii")] = None
        self._tail = data[-_OVERLAP:]

    @property
    def boards(self) -> tuple[str, ...]:
        return tuple(self._sure or self._likely)


def _xor(piece: bytes) -> int:
    """Return all bytes of ``piece`` in one, by exclusive or."""
    value, width = int.from_bytes(piece, "little"), len(piece)
    while width > 1:  # fold the upper half onto the lower one
        width = (width + 1) // 2
        value = (value >> (8 * width)) ^ (value & ((1 << (8 * width)) - 1))
    return value


def _text(field: bytes) -> str:
    """Return the string in a field of fixed length."""
    return field.partition(b"\0")[0].decode("utf-8", "replace")

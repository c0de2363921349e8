"""Firmware images: what the builder makes, and what the device refuses.

Cross-checked by hand with `esptool image-info` (5.6): checksum and hash valid for every chip.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

from firmware_test_client.chips import CHIPS
from firmware_test_client.image import ImageError, firmware_image, merged_binary, read_image


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("append_hash", [True, False])
def test_an_image_is_read_back(chip: str, append_hash: bool) -> None:
    image = firmware_image(
        "2.4.2", chip=chip, board="bread-compact-wifi", size=20_000, append_hash=append_hash
    )
    assert len(image) == 20_000
    app = read_image(image, chip=chip)
    assert (app.version, app.project, app.idf_version) == ("2.4.2", "xiaozhi", "v5.5.1")
    assert b"\0bread-compact-wifi/\0" in image
    assert image == firmware_image(
        "2.4.2", chip=chip, board="bread-compact-wifi", size=20_000, append_hash=append_hash
    )


def test_offsets_are_those_of_the_idf() -> None:
    image = firmware_image("1.2.3", board="b")
    assert image[0] == 0xE9
    assert struct.unpack_from("<H", image, 12) == (9,)  # chip id
    assert image[23] == 1  # hash appended
    assert struct.unpack_from("<I", image, 32) == (0xABCD5432,)
    assert image[48:80].rstrip(b"\0") == b"1.2.3"
    assert image[80:112].rstrip(b"\0") == b"xiaozhi"
    assert image[176:208].hex() == read_image(image, chip="esp32s3").elf_sha256


def _byte(at: int, value: int) -> Callable[[bytes], bytes]:
    return lambda image: image[:at] + bytes([value]) + image[at + 1 :]


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (_byte(0, 0xFF), "magic byte 0xFF"),
        (_byte(12, 5), "chip id 5, this device has 9"),
        (_byte(1, 17), "17 segments"),
        (_byte(28, 0x01), "segment of"),
        (_byte(24, 0x24), "does not fit its place"),
        (_byte(400, 0), "wrong checksum"),
        (_byte(5, 0), "wrong SHA-256"),
        (lambda image: image[:-1], "in the middle"),
        (lambda image: image[:20], "in the middle"),
        (merged_binary, "no app descriptor"),
    ],
)
def test_refusals(spoil: Callable[[bytes], bytes], complaint: str) -> None:
    with pytest.raises(ImageError, match=complaint):
        read_image(spoil(firmware_image("2.4.2")), chip="esp32s3")


def test_more_than_the_slot_holds() -> None:
    with pytest.raises(ImageError, match="the slot has 4128768"):
        read_image(firmware_image("2.4.2", size=0x3F0010), chip="esp32s3")


@pytest.mark.parametrize(("chip", "bootloader"), [("esp32", 0x1000), ("esp32s3", 0)])
def test_a_merged_binary_is_a_whole_flash(chip: str, bootloader: int) -> None:
    app = firmware_image("2.4.2", chip=chip)
    merged = merged_binary(app, chip=chip)
    assert merged[bootloader] == 0xE9
    assert merged[0x8000:0x8002] == b"\xaa\x50"
    assert merged[0x20000:] == app
    with pytest.raises(ImageError):
        read_image(merged, chip=chip)

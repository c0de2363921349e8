from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import firmware_images as images
from vixio.data.devices.firmware.errors import FirmwareError
from vixio.data.devices.firmware.image import MAX_BYTES, FirmwareImage, read_image, read_image_file

APPLICATION = images.application()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("images") / "xiaozhi.bin"


def read(place: Path, data: bytes) -> FirmwareImage:
    place.write_bytes(data)
    return read_image_file(place)


def refusal(place: Path, data: bytes) -> str:
    with pytest.raises(FirmwareError) as caught:
        read(place, data)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_an_image_says_what_it_is(place: Path) -> None:
    place.write_bytes(APPLICATION)
    assert asyncio.run(read_image(place)) == FirmwareImage(
        version="2.4.2",
        project="xiaozhi",
        chip="esp32s3",
        boards=("bread-compact-wifi",),
        flash_bytes=16 * 1024**2,
        idf_version="v5.5.1",
        built="Nov 23 2026 12:34:56",
        size=len(APPLICATION),
        sha256=hashlib.sha256(APPLICATION).hexdigest(),
        elf_sha256="11" * 32,
    )


@pytest.mark.parametrize(("number", "chip"), [(0, "esp32"), (5, "esp32c3"), (18, "esp32p4")])
def test_the_chip_is_named_as_devices_name_it(place: Path, number: int, chip: str) -> None:
    assert read(place, images.application(chip_id=number)).chip == chip


def test_an_image_may_lack_the_digest_and_have_signatures(place: Path) -> None:
    assert read(place, images.application(hashed=False)).version == "2.4.2"
    signed = images.application() + b"\xff" * 60_000 + b"\xe7" * 4096
    assert read(place, signed).sha256 == hashlib.sha256(signed).hexdigest()


def test_the_board_stands_in_user_agent_of_older_firmware(place: Path) -> None:
    older = images.application(constants=b"\0my-board-1.54/\0HTTP/\0my-other-board\0./x/\0")
    assert read(place, older).boards == ("my-board-1.54",)
    both = images.application(constants=b"\0one-board/\0another/\0")
    assert read(place, both).boards == ("one-board", "another")
    assert read(place, images.application(constants=b"nothing")).boards == ()


@pytest.mark.parametrize("before", range(65_536 - 400, 65_536 + 20, 7))
def test_a_board_is_found_across_the_pieces_of_a_file(place: Path, before: int) -> None:
    answer = b'\0{"serverInfo":{"name":"a-board","version":"\0'
    found = read(place, images.application(constants=b"\x07" * before + answer)).boards
    assert found == ("a-board",)


def test_a_board_in_the_code_is_none(place: Path) -> None:
    assert read(place, images.application(constants=b"", code=b"\0not-a-board/\0")).boards == ()


@pytest.mark.parametrize("bootloader_at", [0, 0x1000, 0x2000])
def test_a_merged_binary_is_refused(place: Path, bootloader_at: int) -> None:
    said = refusal(place, images.merged(APPLICATION, bootloader_at))
    assert said == (
        "it is a merged-binary for flashing by cable; give the xiaozhi.bin of the build directory "
        "instead"
    )


def test_an_image_with_a_partition_table_in_its_constants_is_none(place: Path) -> None:
    constants = images.application(constants=bytes(0x8000 - 288) + images.partition_table())
    assert constants[0x8000:0x8002] == b"\xaa\x50"
    assert read(place, constants).version == "2.4.2"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (images.bootloader().ljust(0x4000, b"\xff"), "bootloader"),
        (images.partition_table(), "it is a partition table"),
        (b"PK\x03\x04" + bytes(900), "ZIP archive"),
        (b"\x7fELF" + bytes(900), "xiaozhi.bin that lies beside it"),
        (b"<html>not found</html>", "no ESP image"),
        (APPLICATION[:100], "cut off after 100 bytes"),
        (images.application(magic=0), "no application description"),
        (images.application(chip_id=999), "unknown number 999"),
        (APPLICATION[:1] + b"\x00" + APPLICATION[2:], "states 0 segments"),
        (APPLICATION[:1] + b"\x11" + APPLICATION[2:], "states 17 segments"),
        (APPLICATION + bytes(80_000), "80000 bytes follow"),
        (images.application(flash_power=1, code=bytes(1024**2)), "flash of 2 MB"),
        (APPLICATION.ljust(MAX_BYTES + 1, b"\0"), "more than any device can take"),
    ],
)
def test_what_is_no_image_for_an_update_is_refused(place: Path, data: bytes, words: str) -> None:
    assert words in refusal(place, data)


@pytest.mark.parametrize("version", ["v2.4.2", "2.4.2-dirty", "", "2..4", "2.4.", "9999999999.0"])
def test_a_version_that_ends_the_device_is_refused(place: Path, version: str) -> None:
    said = refusal(place, images.application(version))
    assert f"its version is {version!r}" in said
    assert "PROJECT_VER" in said


def test_every_truncation_is_refused(place: Path) -> None:
    for length in [*range(0, 300, 7), *range(300, len(APPLICATION), 31), len(APPLICATION) - 1]:
        refusal(place, APPLICATION[:length])


@given(at=st.integers(0, len(APPLICATION) - 1), bit=st.integers(0, 7))
def test_no_flipped_bit_passes(place: Path, at: int, bit: int) -> None:
    damaged = bytearray(APPLICATION)
    damaged[at] ^= 1 << bit
    if at == 23 and bit == 0:  # says that no digest follows: 32 bytes of signature, then
        return
    refusal(place, bytes(damaged))


def test_what_is_wrong_with_a_damaged_image_is_said(place: Path) -> None:
    middle, last = bytearray(APPLICATION), bytearray(APPLICATION)
    middle[-500] ^= 1
    last[-1] ^= 1
    assert "its checksum is wrong" in refusal(place, bytes(middle))
    assert "its SHA-256 is wrong" in refusal(place, bytes(last))


@given(data=st.binary(max_size=400), head=st.integers(0, 400))
def test_random_bytes_raise_nothing_but_a_refusal(place: Path, data: bytes, head: int) -> None:
    refusal(place, data)
    refusal(place, APPLICATION[:head] + data)


@given(header=st.binary(min_size=22, max_size=22), length=st.integers(0, 2**32 - 1))
def test_random_headers_raise_nothing_but_a_refusal(
    place: Path, header: bytes, length: int
) -> None:
    data = b"\xe9" + header + b"\1" + APPLICATION[24:28] + length.to_bytes(4, "little")
    refusal(place, data + APPLICATION[32:])


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(FirmwareError, match="No such file"):
        read_image_file(tmp_path / "missing.bin")
    with pytest.raises(FirmwareError, match="Is a directory"):
        read_image_file(tmp_path)

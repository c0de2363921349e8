"""Images are recognised by their content."""

from __future__ import annotations

import pytest

from firmware_test_client.mcp.photo import PHOTO
from tests.support.png import png
from vixio.web.http.images import media_type, png_size

PNG = png(4, 4)
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


def test_the_size_of_a_png_is_known() -> None:
    assert png_size(png(320, 200)) == (320, 200)
    assert png_size(png(70_000, 1)) == (70_000, 1)
    assert {png_size(each) for each in (b"", PHOTO, PNG[:-12], PNG.replace(b"IHDR", b"xHDR"))} == {
        (0, 0)
    }

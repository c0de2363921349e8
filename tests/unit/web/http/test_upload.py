"""The camera's upload, in any pieces and in no form at all."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.web.http.upload import (
    MAX_PARTS,
    MAX_QUESTION_BYTES,
    BadUpload,
    Upload,
)

BOUNDARY = "----ESP32_CAMERA_BOUNDARY"
TYPE = f"multipart/form-data; boundary={BOUNDARY}"


def part(name: str, data: bytes, *, more: str = "") -> bytes:
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n'
    return head.encode() + data + b"\r\n"


END = f"--{BOUNDARY}--\r\n".encode()
PHOTO = bytes(range(256)) * 8 + b"\r\n--not the end\r\n"
BODY = (
    part("question", "What is 这个?".encode())
    + part("file", PHOTO, more='; filename="camera.jpg"\r\nContent-Type: image/jpeg')
    + END
)


def read(body: bytes, *cuts: int, limit: int = 100_000) -> Upload:
    upload = Upload(TYPE, limit)
    places = [0, *sorted(cut % (len(body) + 1) for cut in cuts), len(body)]
    for start, end in pairwise(places):
        upload.feed(body[start:end])
    upload.finish()
    return upload


@given(st.lists(st.integers(0, len(BODY)), max_size=40))
def test_the_pieces_do_not_matter(cuts: list[int]) -> None:
    upload = read(BODY, *cuts)
    assert upload.question == "What is 这个?"
    assert bytes(upload.photo) == PHOTO


def test_other_parts_are_ignored_and_a_question_is_not_needed() -> None:
    upload = read(part("extra", b"x" * 5_000) + part("file", PHOTO) + END)
    assert upload.question == ""
    assert bytes(upload.photo) == PHOTO


def test_a_photo_over_the_limit_is_refused_before_it_is_whole() -> None:
    upload = Upload(TYPE, 1_000)
    with pytest.raises(BadUpload, match="more than 1000 bytes") as caught:
        upload.feed(part("file", bytes(1_001)))
    assert caught.value.status == 413


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"nothing of the kind", 400),
        (BODY[:-8], 400),
        (END, 400),
        (part("question", b"?") + END, 400),
        (part("question", b"?" * (MAX_QUESTION_BYTES + 1)) + END, 413),
        (part("file", PHOTO) * (MAX_PARTS + 1) + END, 400),
        (part("file", PHOTO, more="\r\nX: " + "y" * 3_000) * 2 + END, 413),
        (part("file", PHOTO, more="\r\nX: " + "y" * 30_000) + END, 400),
    ],
    ids=["empty", "text", "cut", "no parts", "no photo", "long question", "many", "heads", "head"],
)
def test_what_is_malformed_is_refused_in_one_line(body: bytes, status: int) -> None:
    with pytest.raises(BadUpload) as caught:
        read(body)
    assert caught.value.status == status
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "content_type",
    ["", "image/jpeg", "multipart/form-data", f"multipart/form-data; boundary={'x' * 71}"],
)
def test_another_content_type_is_refused(content_type: str) -> None:
    with pytest.raises(BadUpload) as caught:
        Upload(content_type, 1_000)
    assert caught.value.status == 415


@given(st.binary(max_size=2_000))
def test_no_body_makes_it_fail_in_another_way(body: bytes) -> None:
    upload = Upload(TYPE, 1_000)
    try:
        upload.feed(body)
        upload.finish()
    except BadUpload:
        pass
    else:
        assert upload.photo

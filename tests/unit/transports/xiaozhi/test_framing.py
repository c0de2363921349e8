from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.transports.xiaozhi.framing import (
    MAX_PAYLOAD_3,
    TYPE_JSON,
    VERSIONS,
    BinaryFrame,
    Version,
    build_frame,
    parse_frame,
)


@pytest.mark.parametrize("version", VERSIONS)
@given(payload=st.binary(max_size=2000), timestamp=st.integers(0, 2**32 - 1))
def test_what_is_built_is_parsed_back(version: Version, payload: bytes, timestamp: int) -> None:
    frame = parse_frame(version, build_frame(version, payload, timestamp))
    assert frame == BinaryFrame(payload, 0, timestamp if version == 2 else 0)


def test_the_bytes_are_those_of_the_firmware() -> None:
    assert build_frame(1, b"opus", 7) == b"opus"
    assert build_frame(2, b"opus", 0x01020304) == bytes.fromhex(
        "0002 0000 00000000 01020304 00000004"
    ) + (b"opus")
    assert build_frame(3, b"opus", 7) == bytes.fromhex("00 00 0004") + b"opus"
    assert build_frame(2, b"opus") == build_frame(2, b"opus", 0)


@pytest.mark.parametrize(
    ("version", "data"),
    [
        (2, bytes.fromhex("0002 0001 00000000 00000000 00000002") + b"{}"),
        (3, bytes.fromhex("01 00 0002") + b"{}"),
    ],
)
def test_the_type_is_read(version: Version, data: bytes) -> None:
    assert parse_frame(version, data) == BinaryFrame(b"{}", TYPE_JSON)


def test_a_timestamp_wraps_instead_of_failing_after_49_days() -> None:
    frame = parse_frame(2, build_frame(2, b"x", 2**32 + 5))
    assert frame is not None
    assert frame.timestamp_ms == 5


@pytest.mark.parametrize("version", VERSIONS)
@given(data=st.binary(max_size=64))
def test_no_bytes_break_the_parser(version: Version, data: bytes) -> None:
    frame = parse_frame(version, data)
    if frame is not None:
        assert data.endswith(frame.payload)


@pytest.mark.parametrize(
    ("version", "data"),
    [
        (2, b""),
        (2, bytes(15)),
        (2, bytes.fromhex("0002 0000 00000000 00000000 00000005") + b"four"),
        (2, bytes.fromhex("0002 0000 00000000 00000000 00000003") + b"four"),
        (2, bytes.fromhex("0001 0000 00000000 00000000 00000004") + b"four"),
        (3, b"\0\0\0"),
        (3, bytes.fromhex("00 00 0005") + b"four"),
        (3, bytes.fromhex("00 00 0003") + b"four"),
    ],
)
def test_a_wrong_header_is_seen(version: Version, data: bytes) -> None:
    assert parse_frame(version, data) is None


def test_version_3_says_what_it_cannot_hold() -> None:
    with pytest.raises(ValueError, match="65535"):
        build_frame(3, bytes(MAX_PAYLOAD_3 + 1))
    assert len(build_frame(3, bytes(MAX_PAYLOAD_3))) == MAX_PAYLOAD_3 + 4

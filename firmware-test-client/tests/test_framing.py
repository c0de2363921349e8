"""Binary frames of each version, compared with hand-written bytes."""

from __future__ import annotations

import pytest

from firmware_test_client.framing import AudioPacket, FramingError, pack, unpack

PAYLOAD = bytes(range(7))
ON_THE_WIRE = {
    1: PAYLOAD,
    2: bytes.fromhex("0002 0000 00000000 00012345 00000007") + PAYLOAD,
    3: bytes.fromhex("00 00 0007") + PAYLOAD,
}


@pytest.mark.parametrize("version", [1, 2, 3])
def test_layout_and_round_trip(version: int) -> None:
    packet = AudioPacket(PAYLOAD, 0x12345)
    wire = pack(version, packet)
    assert wire == ON_THE_WIRE[version]
    back = unpack(version, wire)
    assert back.payload == PAYLOAD
    assert back.timestamp == (0x12345 if version == 2 else 0)


@pytest.mark.parametrize(
    ("version", "wire", "complaint"),
    [
        (2, b"\x00\x02\x00", "no whole header"),
        (2, ON_THE_WIRE[2][:-1], "states 7 bytes and has 6"),
        (2, ON_THE_WIRE[2] + b"x", "states 7 bytes and has 8"),
        (2, bytes.fromhex("0003 0000 00000000 00000000 00000000"), "states version 3"),
        (2, bytes.fromhex("0002 0001 00000000 00000000 00000000"), "type 1"),
        (3, b"\x00", "no whole header"),
        (3, ON_THE_WIRE[3][:-1], "states 7 bytes and has 6"),
        (3, b"\x01\x00\x00\x00", "type 1"),
    ],
)
def test_frames_with_a_wrong_size_are_refused(version: int, wire: bytes, complaint: str) -> None:
    with pytest.raises(FramingError, match=complaint):
        unpack(version, wire)

"""Audio datagrams, and the section of the server's hello that describes them."""

from __future__ import annotations

from typing import Any

import pytest
from mqtt_server import KEY, NONCE, crypt

from firmware_test_client.framing import AudioPacket, FramingError
from firmware_test_client.udp_audio import UdpAudio, UdpOffer, read_offer

OFFER = UdpOffer("127.0.0.1", 8884, KEY, NONCE)
SECTION = {"server": "127.0.0.1", "port": 8884, "key": KEY.hex(), "nonce": NONCE.hex().upper()}


def downlink(sequence: int, payload: bytes = b"opus", **header: int) -> bytes:
    type_, size = header.get("type", 1), header.get("size", len(payload))
    head = bytes([type_, 1]) + size.to_bytes(2, "big") + b"\x09" * 4
    head += (60 * sequence).to_bytes(4, "big") + sequence.to_bytes(4, "big")
    return head + crypt(head, payload)


def test_the_uplink_header_is_the_nonce_with_three_fields_written_over() -> None:
    audio = UdpAudio(OFFER)
    first, second = audio.pack(AudioPacket(b"opus")), audio.pack(AudioPacket(b"", 0x01020304))
    assert first[:16] == NONCE[:2] + b"\x00\x04" + NONCE[4:8] + bytes(4) + b"\x00\x00\x00\x01"
    assert second == NONCE[:2] + bytes(2) + NONCE[4:8] + b"\x01\x02\x03\x04\x00\x00\x00\x02"
    assert crypt(first[:16], first[16:]) == b"opus"
    assert first[16:] != b"opus"


def test_the_flags_of_the_nonce_are_sent() -> None:
    offer = UdpOffer("127.0.0.1", 1, KEY, b"\x01\x07" + NONCE[2:])
    assert UdpAudio(offer).pack(AudioPacket(b""))[1] == 7


def test_the_counter_block_is_the_header_and_grows_by_one() -> None:
    """Sequence 1's second block has the counter of sequence 2's first, as documented."""
    audio, zeros = UdpAudio(OFFER), bytes(32)
    first, second = audio.pack(AudioPacket(zeros)), audio.pack(AudioPacket(zeros))
    assert first[32:48] == second[16:32]


def test_the_downlink_is_read_in_its_order_only() -> None:
    audio = UdpAudio(OFFER)
    assert audio.unpack(downlink(1)) == AudioPacket(b"opus", 60)
    assert audio.unpack(downlink(1)) is None
    assert audio.unpack(downlink(4)) == AudioPacket(b"opus", 240)
    assert audio.missing == 2
    assert audio.unpack(downlink(3)) is None
    assert audio.unpack(downlink(5)) == AudioPacket(b"opus", 300)
    assert audio.missing == 0


@pytest.mark.parametrize(
    "datagram",
    [
        downlink(1)[:15],
        downlink(1, type=0),
        downlink(1, type=2),
        downlink(1)[:-1],
        downlink(1) + b"x",
        downlink(1, size=3),
    ],
)
def test_what_is_no_audio(datagram: bytes) -> None:
    audio = UdpAudio(OFFER)
    with pytest.raises(FramingError):
        audio.unpack(datagram)
    assert audio.unpack(downlink(1)) is not None


def test_an_offer() -> None:
    assert read_offer(SECTION | {"encryption": "none"}) == OFFER
    assert read_offer(SECTION | {"port": 8884.0}) == OFFER


@pytest.mark.parametrize(
    "change",
    [
        {"server": 1},
        {"server": None},
        {"port": "8884"},
        {"port": 0},
        {"port": 65_536},
        {"port": True},
        {"key": KEY.hex()[:-2]},
        {"key": KEY.hex() + "00"},
        {"key": "g" * 32},
        {"nonce": None},
        {"nonce": NONCE.hex()[:-1]},
    ],
)
def test_offers_that_the_firmware_takes_for_no_hello(change: dict[str, Any]) -> None:
    assert read_offer(SECTION | change) is None
    assert read_offer([SECTION]) is None

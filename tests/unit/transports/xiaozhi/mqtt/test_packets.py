"""The packets of MQTT 3.1.1, as bytes from the standard and as anything else."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.transports.xiaozhi.mqtt.support import (
    DEVICE,
    SECRET,
    WILL,
    connect,
    packet,
    string,
    up,
)
from vixio.transports.xiaozhi.mqtt.packets import (
    PINGRESP,
    BadPacket,
    Connect,
    ConnectCode,
    Kind,
    Packet,
    PacketReader,
    Publish,
    acknowledge,
    connack,
    publish,
    read_connect,
    read_empty,
    read_publish,
    read_subscribe,
    read_unsubscribe,
)

READERS: dict[int, Callable[[Packet], object]] = {
    Kind.CONNECT: read_connect,
    Kind.PUBLISH: read_publish,
    Kind.SUBSCRIBE: read_subscribe,
    Kind.UNSUBSCRIBE: read_unsubscribe,
    Kind.PINGREQ: read_empty,
    Kind.DISCONNECT: read_empty,
}


def take(data: bytes, limit: int = 2**20) -> list[Packet]:
    reader = PacketReader()
    reader.limit = limit
    return list(reader.feed(data))


def one(data: bytes) -> Packet:
    (got,) = take(data)
    return got


def test_a_connect_byte_by_byte_as_the_standard_draws_it() -> None:
    data = bytes.fromhex(
        "10 17"
        "00 04 4d 51 54 54 04"  # the name and the level
        "c2 00 0a"  # user name, password, clean session; ten seconds
        "00 03 61 3a 62  00 01 75  00 03 73 65 63"
    )
    assert read_connect(one(data)) == Connect("a:b", "u", "sec", 10)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (connect(), Connect(DEVICE, "client-uuid", SECRET, 120)),
        (connect(name=b"MQIsdp", level=3), Connect(DEVICE, "client-uuid", SECRET, 120)),
        (connect(flags=0x02, payload=b"", keepalive=65_535), Connect(DEVICE, "", "", 65_535)),
        (connect(flags=0x00, payload=b""), Connect(DEVICE, "", "", 120)),
        (connect(flags=0x82, payload=string("u")), Connect(DEVICE, "u", "", 120)),
        (connect(flags=0x36, payload=WILL), Connect(DEVICE, "", "", 120)),
        (connect(flags=0xEE, payload=WILL + b"\0\1u\0\1p"), Connect(DEVICE, "u", "p", 120)),
        (connect(b"", flags=0x02, payload=b""), Connect("", "", "", 120)),
        (connect(flags=0xC2, payload=b"\0\1u\0\1\xff"), Connect(DEVICE, "u", "\ufffd", 120)),
        (connect("ünï\ufeff", flags=0, payload=b""), Connect("ünï\ufeff", "", "", 120)),
    ],
)
def test_a_connect_is_read(data: bytes, expected: Connect) -> None:
    assert read_connect(one(data)) == expected


def test_a_password_is_in_no_repr() -> None:
    assert SECRET not in repr(read_connect(one(connect())))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (connect(name=b"MQTX"), "protocol"),
        (connect(name=b""), "protocol"),
        (connect(name=b"MQTT\0"), "protocol"),
        (connect(level=5), "level"),
        (connect(level=3), "level"),
        (connect(level=0x84), "level"),
        (connect(name=b"MQIsdp"), "level"),
        (connect(flags=0xC3), "malformed"),  # reserved
        (connect(flags=0xDE, payload=WILL + b"\0\1u\0\1p"), "malformed"),  # a will of QoS 3
        (connect(flags=0xCA), "malformed"),  # the QoS of no will
        (connect(flags=0xE2), "malformed"),  # no will, retained
        (connect(flags=0x42, payload=string(SECRET)), "malformed"),  # a password of nobody
        (connect(flags=0x02), "malformed"),  # bytes left
        (connect(payload=string("u")), "malformed"),  # no password
        (connect(payload=string("u") + b"\0\x09pass"), "malformed"),
        (connect(flags=0xC6), "malformed"),  # the login in place of the will, then none
        (connect(b"\xff\xfe"), "malformed"),
        (connect(b"\xed\xa0\x80"), "malformed"),  # a surrogate
        (connect(b"\xc0\x80"), "malformed"),  # U+0000 in two bytes
        (connect(b"a\0b"), "malformed"),
        (connect(payload=string(b"\xff") + string("p")), "malformed"),
        (b"\x11" + connect()[1:], "malformed"),
        *((packet(0x10, connect()[2:size]), "malformed") for size in range(8, len(connect()))),
    ],
)
def test_a_bad_connect_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(BadPacket) as refused:
        read_connect(one(data))
    assert refused.value.reason == str(refused.value) == reason
    assert refused.value.code == (ConnectCode.LEVEL_REJECTED if reason == "level" else None)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (up(b""), Publish(f"vixio/up/{DEVICE}", b"", 0)),
        (up(b"\0\xff", "a", 0x31), Publish("a", b"\0\xff", 0, retained=True)),
        (up(b"\0\7\0\1", "a", 0x32), Publish("a", b"\0\1", 7)),
        (up(b"\xff\xff", "a", 0x3B), Publish("a", b"", 65_535, retained=True)),
    ],
)
def test_a_publish_is_read(data: bytes, expected: Publish) -> None:
    assert read_publish(one(data)) == expected


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (up(b"x", first=0x34), "qos2"),
        (up(b"x", first=0x36), "malformed"),
        (up(b"x", first=0x38), "malformed"),
        (up(b"\0\0x", first=0x32), "malformed"),
        (up(b"\0", first=0x32), "malformed"),
        (up(b"x", ""), "malformed"),
        (up(b"x", "a/+/b"), "malformed"),
        (up(b"x", "#"), "malformed"),
        (packet(0x30, string(b"\xff"), b"x"), "malformed"),
        (packet(0x30, b"\0"), "malformed"),
        (packet(0x30), "malformed"),
        (packet(0x30, b"\0\7short"), "malformed"),
    ],
)
def test_a_bad_publish_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(BadPacket) as refused:
        read_publish(one(data))
    assert refused.value.reason == reason


def test_subscriptions_are_read() -> None:
    filters = string("a/#") + b"\2" + string("b") + b"\0"
    assert read_subscribe(one(packet(0x82, b"\x12\x34", filters))) == (0x1234, ["a/#", "b"])
    assert read_unsubscribe(one(packet(0xA2, b"\0\1", string("a"), string("b")))) == 1


@pytest.mark.parametrize(
    "data",
    [
        packet(0x80, b"\0\1", string("a"), b"\0"),
        packet(0x82, b"\0\1"),
        packet(0x82, b"\0\0", string("a"), b"\0"),
        packet(0x82, b"\0\1", string("a"), b"\3"),
        packet(0x82, b"\0\1", string("a")),
        packet(0x82, b"\0\1", string(""), b"\0"),
        packet(0x82, b"\0\1", string("a"), b"\0\0"),
        packet(0xA0, b"\0\1", string("a")),
        packet(0xA2, b"\0\1"),
        packet(0xA2, b"\0\0", string("a")),
        packet(0xA2, b"\0\1", string("a"), b"\0"),
        packet(0xC0, b"x"),
        packet(0xC1),
        packet(0xE0, b"\0"),
        packet(0xE8),
    ],
)
def test_other_bad_packets_are_refused(data: bytes) -> None:
    got = one(data)
    with pytest.raises(BadPacket, match="malformed"):
        READERS[got.kind](got)


def test_what_the_server_sends() -> None:
    assert connack(ConnectCode.BAD_LOGIN) == b"\x20\x02\x00\x04"
    assert acknowledge(Kind.PUBACK, 0x0102) == b"\x40\x02\x01\x02"
    assert acknowledge(Kind.UNSUBACK, 3) == b"\xb0\x02\x00\x03"
    assert acknowledge(Kind.SUBACK, 1, b"\x00\x80") == b"\x90\x04\x00\x01\x00\x80"
    assert PINGRESP == b"\xd0\x00"
    assert publish(b"a/b", b"10") == b"\x30\x07\x00\x03a/b10"


@pytest.mark.parametrize("size", [0, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152])
def test_a_length_has_one_to_four_bytes(size: int) -> None:
    data = publish(b"t", bytes(max(0, size - 3)))
    assert data[1:5].startswith(
        {
            0: b"\x03",
            127: b"\x7f",
            128: b"\x80\x01",
            16_383: b"\xff\x7f",
            16_384: b"\x80\x80\x01",
            2_097_151: b"\xff\xff\x7f",
            2_097_152: b"\x80\x80\x80\x01",
        }[size]
    )
    (got,) = take(data, 2**28)
    assert read_publish(got) == Publish("t", bytes(max(0, size - 3)), 0)


def test_a_packet_over_the_limit_is_refused_by_its_header() -> None:
    assert take(b"\x30\x80\x01" + bytes(128), 128)
    with pytest.raises(BadPacket, match="too_large"):
        take(b"\x30\x81\x01", 128)
    assert take(b"\x30\x80", 128) == []


@pytest.mark.parametrize("data", [b"\x10\xff\xff\xff\xff", b"\x30\x80\x80\x80\x80\x00"])
def test_a_length_of_five_bytes_is_malformed(data: bytes) -> None:
    assert take(data[:4]) == []
    with pytest.raises(BadPacket, match="malformed"):
        take(data)


def outcome(pieces: list[bytes]) -> tuple[list[Packet], str]:
    reader = PacketReader()
    got: list[Packet] = []
    try:
        for piece in pieces:
            got.extend(reader.feed(piece))
    except BadPacket as bad:
        return got, bad.reason
    return got, ""


PACKETS = st.one_of(
    st.just(connect()),
    st.just(packet(0xC0)),
    st.binary(max_size=40).map(up),
    st.binary(min_size=1, max_size=12),
    st.builds(packet, st.integers(0, 255), st.binary(max_size=200)),
)


@given(st.lists(PACKETS, max_size=6), st.data())
def test_it_does_not_matter_how_bytes_are_divided(
    packets: list[bytes], data: st.DataObject
) -> None:
    whole = b"".join(packets)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    expected = outcome([whole])
    assert outcome(pieces) == expected
    assert outcome([whole[at : at + 1] for at in range(len(whole))]) == expected


@given(st.integers(0, 15), st.integers(0, 15), st.binary(max_size=60))
def test_any_body_is_read_or_refused(kind: int, flags: int, body: bytes) -> None:
    for reader in READERS.values():
        with contextlib.suppress(BadPacket):
            reader(Packet(kind, flags, body))


@given(st.integers(0, 100), st.binary(max_size=4))
def test_a_spoiled_connect_is_read_or_refused(at: int, spoiled: bytes) -> None:
    body = connect()[2:]
    at = min(at, len(body))
    try:
        got = read_connect(Packet(1, 0, body[:at] + spoiled + body[at + len(spoiled) :]))
    except BadPacket:
        return
    assert got.client_id.encode()

"""Packets of MQTT 3.1.1, byte for byte."""

from __future__ import annotations

import pytest

from firmware_test_client import mqtt_packets as mqtt
from firmware_test_client.mqtt_packets import Kind, MqttError, Packet, PacketReader


def test_connect_as_esp_mqtt_writes_it() -> None:
    packet = mqtt.connect("ab", "u", "pw", 240)
    assert packet == b"\x10\x15\x00\x04MQTT\x04\xc2\x00\xf0\x00\x02ab\x00\x01u\x00\x02pw"
    assert mqtt.connect("ab", "", "", 60) == b"\x10\x0e\x00\x04MQTT\x04\x02\x00\x3c\x00\x02ab"


@pytest.mark.parametrize(
    ("size", "head"),
    [
        (124, b"\x30\x7f"),
        (125, b"\x30\x80\x01"),
        (16_380, b"\x30\xff\x7f"),
        (16_381, b"\x30\x80\x80\x01"),
    ],
)
def test_lengths(size: int, head: bytes) -> None:
    packet = mqtt.publish("t", b"x" * size)
    assert packet.startswith(head + b"\x00\x01tx")
    (read,) = PacketReader().feed(packet)
    assert mqtt.read_publish(read) == mqtt.Publish("t", b"x" * size, 0, 0)


def test_a_stream_is_split_wherever_it_was_cut() -> None:
    stream = b"\x20\x02\x00\x05" + mqtt.publish("t", b"hello", qos=1, packet_id=7) + b"\xd0\x00"
    reader = PacketReader()
    packets = [packet for byte in stream for packet in reader.feed(bytes([byte]))]
    assert [packet.kind for packet in packets] == [Kind.CONNACK, Kind.PUBLISH, Kind.PINGRESP]
    assert packets == list(PacketReader().feed(stream))
    assert mqtt.read_connack(packets[0].body) == 5
    assert mqtt.read_publish(packets[1]) == mqtt.Publish("t", b"hello", 1, 7)
    assert mqtt.puback(7) == b"\x40\x02\x00\x07"


@pytest.mark.parametrize("data", [b"\x30\x80\x80\x80\x80\x01", b"\xf0\x00", b"\x00\x00"])
def test_what_is_no_packet(data: bytes) -> None:
    with pytest.raises(MqttError):
        list(PacketReader().feed(data))


@pytest.mark.parametrize(
    ("flags", "body"),
    [
        (0, b""),
        (0, b"\x00\x05t"),
        (2, b"\x00\x01t\x00"),
        (0, b"\x00\x01\xff"),
        (4, b"\x00\x01t\x00\x07x"),
    ],
)
def test_publishes_that_cannot_be_read(flags: int, body: bytes) -> None:
    with pytest.raises(MqttError):
        mqtt.read_publish(Packet(Kind.PUBLISH, flags, body))

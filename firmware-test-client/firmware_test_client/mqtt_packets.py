"""The MQTT 3.1.1 packets that a device uses, as bytes; no sockets.

Section numbers are those of MQTT 3.1.1 (OASIS). What ESP-MQTT leaves out is left out: wills,
sessions that outlive the connection, outgoing QoS above 0.

No client library is used. paho-mqtt and aiomqtt connect in a thread each and own the socket; gmqtt
hides its transport and reconnects by rules of its own; amqtt is a broker with many dependencies. A
simulated device has to stop reading, reset its connection, hold back what it sends, send malformed
bytes and reconnect as the firmware does.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

_MAX_LENGTH_BYTES: Final = 4  # section 2.2.3
_CLEAN_SESSION: Final = 0x02  # section 3.1.2.3, with the other flags of CONNECT
_PASSWORD: Final = 0x40
_USERNAME: Final = 0x80

REFUSALS: Final = {
    1: "unacceptable protocol version",
    2: "identifier rejected",
    3: "server unavailable",
    4: "bad user name or password",
    5: "not authorised",
}
"""Return codes of CONNACK (section 3.2.2.3) that refuse a connection."""


class MqttError(ValueError):
    """Bytes that are no packet which a broker may send to this client."""


class Kind(IntEnum):
    """Types of packets (section 2.2.1)."""

    CONNECT = 1
    CONNACK = 2
    PUBLISH = 3
    PUBACK = 4
    SUBSCRIBE = 8
    SUBACK = 9
    PINGREQ = 12
    PINGRESP = 13
    DISCONNECT = 14


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet without its fixed header."""

    kind: Kind
    flags: int  # the low four bits of the first byte
    body: bytes


@dataclass(frozen=True, slots=True)
class Publish:
    """The content of a PUBLISH; `packet_id` is 0 with QoS 0."""

    topic: str
    payload: bytes
    qos: int
    packet_id: int


def connect(client_id: str, username: str, password: str, keepalive: int) -> bytes:
    """CONNECT with a clean session; empty credentials are left out, as ESP-MQTT does."""
    flags, fields = _CLEAN_SESSION, _string(client_id)
    if username:
        flags, fields = flags | _USERNAME, fields + _string(username)
    if password:
        flags, fields = flags | _PASSWORD, fields + _string(password)
    head = _string("MQTT") + struct.pack(">BBH", 4, flags, keepalive & 0xFFFF)
    return _packet(Kind.CONNECT, 0, head + fields)


def publish(
    topic: str, payload: bytes, *, qos: int = 0, packet_id: int = 0, retain: bool = False
) -> bytes:
    """PUBLISH."""
    number = struct.pack(">H", packet_id) if qos else b""
    return _packet(Kind.PUBLISH, qos << 1 | retain, _string(topic) + number + payload)


def puback(packet_id: int) -> bytes:
    """PUBACK."""
    return _packet(Kind.PUBACK, 0, struct.pack(">H", packet_id))


def subscribe(packet_id: int, topic: str) -> bytes:
    """SUBSCRIBE to one topic with QoS 0. The firmware never sends it."""
    return _packet(Kind.SUBSCRIBE, 2, struct.pack(">H", packet_id) + _string(topic) + b"\x00")


PINGREQ: Final = bytes([Kind.PINGREQ << 4, 0])
DISCONNECT: Final = bytes([Kind.DISCONNECT << 4, 0])


def read_connack(body: bytes) -> int:
    """The return code; 0: accepted."""
    if len(body) != 2:
        raise MqttError(f"CONNACK of {len(body)} bytes")
    return body[1]


def read_publish(packet: Packet) -> Publish:
    """The content of a PUBLISH."""
    qos, body = packet.flags >> 1 & 3, packet.body
    if qos > 1:
        raise MqttError(f"PUBLISH with QoS {qos}, which is not simulated")
    end = 2 + int.from_bytes(body[:2], "big")
    rest = end + (2 if qos else 0)
    if len(body) < 2 or len(body) < rest:
        raise MqttError("PUBLISH that ends within its header")
    try:
        topic = body[2:end].decode()
    except UnicodeDecodeError:
        raise MqttError("PUBLISH with a topic that is not UTF-8") from None
    return Publish(topic, body[rest:], qos, int.from_bytes(body[end:rest], "big"))


class PacketReader:
    """Splits a stream of bytes into packets."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Packet]:
        """Add bytes; yields every packet that is complete.

        Raises:
            MqttError: an unknown type, or a length of more than four bytes.
        """
        self._buffer += data
        while (packet := self._next()) is not None:
            yield packet

    def _next(self) -> Packet | None:
        buffer, length = self._buffer, 0
        for at in range(1, 1 + _MAX_LENGTH_BYTES):
            if at >= len(buffer):
                return None
            length |= (buffer[at] & 0x7F) << 7 * (at - 1)
            if not buffer[at] & 0x80:
                break
        else:
            raise MqttError("packet with a length of more than four bytes")
        end = at + 1 + length
        if len(buffer) < end:
            return None
        try:
            kind = Kind(buffer[0] >> 4)
        except ValueError:
            raise MqttError(f"packet of type {buffer[0] >> 4}") from None
        packet = Packet(kind, buffer[0] & 0x0F, bytes(buffer[at + 1 : end]))
        del buffer[:end]
        return packet


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">H", len(data)) + data


def _packet(kind: Kind, flags: int, body: bytes) -> bytes:
    length, digits = len(body), bytearray()
    while True:
        length, digit = length >> 7, length & 0x7F
        digits.append(digit | (0x80 if length else 0))
        if not length:
            return bytes([kind << 4 | flags]) + bytes(digits) + body

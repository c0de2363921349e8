"""MQTT 3.1.1, the server's side and as much of the client's as a front of a broker needs: bytes in,
packets out, bytes to send.

After the OASIS standard of 29 October 2014
(https://docs.oasis-open.org/mqtt/mqtt/v3.1.1/os/mqtt-v3.1.1-os.html); § and [MQTT-…] are its
sections and statements. Only what a device and a server without subscriptions need: no QoS 2, no
sessions, no retained messages. Clients of MQTT 3.1 differ in the name and the level alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, NamedTuple

MAX_CONNECT_BYTES = 8 * 1024
"""Of a CONNECT, usually 300 bytes: a client without a login may make the server hold no more."""

LEVELS: Final = {b"MQTT": 4, b"MQIsdp": 3}
"""Levels by the protocol's name: MQTT 3.1.1 and 3.1."""


class Kind(IntEnum):
    """Packets by their first four bits (§2.2.1)."""

    CONNECT = 1
    CONNACK = 2
    PUBLISH = 3
    PUBACK = 4
    SUBSCRIBE = 8
    SUBACK = 9
    UNSUBSCRIBE = 10
    UNSUBACK = 11
    PINGREQ = 12
    PINGRESP = 13
    DISCONNECT = 14


class ConnectCode(IntEnum):
    """What a CONNACK says (§3.2.2.3). The firmware connects again after each but 0."""

    ACCEPTED = 0
    LEVEL_REJECTED = 1
    IDENTIFIER_REJECTED = 2
    UNAVAILABLE = 3
    BAD_LOGIN = 4
    NOT_AUTHORISED = 5


class BadPacket(Exception):
    """What arrived breaks the standard. ``reason``: one word, with nothing of it.

    ``code``: of the CONNACK that it is answered with; None: the connection is closed without one.
    """

    def __init__(self, reason: str = "malformed", code: ConnectCode | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code


class Packet(NamedTuple):
    """One packet. ``kind``: of :class:`Kind`, or any other number; ``flags``: four bits."""

    kind: int
    flags: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Connect:
    """Who connects. Will and clean session are read and forgotten. ``keepalive``: seconds; 0: off.

    A password need not be text (§3.1.3.5); bytes that are none are replaced.
    """

    client_id: str
    username: str
    password: str = field(repr=False)
    keepalive: int


class Publish(NamedTuple):
    """A message. ``packet_id``: to acknowledge (QoS 1), or 0 (QoS 0). ``retained``: to a broker,
    that it is to be kept; from it, that it was, since some other time."""

    topic: str
    payload: bytes
    packet_id: int
    retained: bool = False


class PacketReader:
    """Divides a stream into packets. ``limit``: bytes of one, without its header of 2 to 5.

    ``skip``: a larger one is left out, else it is an error.
    """

    __slots__ = ("_rest", "_skip", "_skipping", "limit")

    def __init__(self, limit: int = MAX_CONNECT_BYTES, *, skip: bool = False) -> None:
        self.limit = limit
        self._rest = bytearray()
        self._skip = skip
        self._skipping = 0  # bytes of such a packet that are still to come

    def feed(self, data: bytes | bytearray | memoryview) -> Iterator[Packet]:
        """Yield the packets that are complete. Raises BadPacket, after which nothing is to be fed.

        A packet over the limit is one as soon as its header has arrived.
        """
        rest = self._rest
        rest += data
        while (header := self._next()) is not None:
            start, size = header
            if size > self.limit:
                if not self._skip:
                    raise BadPacket("too_large")
                self._skipping = start + size
                continue
            if len(rest) < start + size:
                return
            first, body = rest[0], bytes(rest[start : start + size])
            del rest[: start + size]
            yield Packet(first >> 4, first & 0x0F, body)

    def _next(self) -> tuple[int, int] | None:
        """Return the bytes of the header and those that follow it (§2.2.3); None: too few came."""
        rest, size = self._rest, 0
        skipped = min(self._skipping, len(rest))
        del rest[:skipped]
        self._skipping -= skipped
        for at in range(1, min(len(rest), 5)):
            size |= (rest[at] & 0x7F) << 7 * (at - 1)
            if rest[at] < 0x80:
                return at + 1, size
        if len(rest) >= 5:
            raise BadPacket
        return None


class _Fields:
    """The fields of a packet's body, in order."""

    def __init__(self, packet: Packet, flags: int) -> None:
        if packet.flags != flags:  # [MQTT-2.2.2-2]
            raise BadPacket
        self._body = packet.body
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._body) - self._at

    def take(self, size: int) -> bytes:
        if self.left < size:
            raise BadPacket
        self._at += size
        return self._body[self._at - size : self._at]

    def number(self) -> int:
        """Two bytes (§1.5.2)."""
        return int.from_bytes(self.take(2), "big")

    def packet_id(self) -> int:
        number = self.number()
        if not number:  # [MQTT-2.3.1-1]
            raise BadPacket
        return number

    def binary(self) -> bytes:
        return self.take(self.number())

    def text(self) -> str:
        """A string (§1.5.3). Python's decoder refuses surrogates and overlong forms too."""
        try:
            text = self.binary().decode()
        except UnicodeDecodeError:
            raise BadPacket from None  # [MQTT-1.5.3-1]; the error's text would quote the bytes
        if "\0" in text:  # [MQTT-1.5.3-2]
            raise BadPacket
        return text

    def end(self) -> None:
        if self.left:
            raise BadPacket


def read_connect(packet: Packet) -> Connect:
    """Read a CONNECT (§3.1). Raises BadPacket: ``protocol``, ``level``, ``malformed``."""
    fields = _Fields(packet, 0)
    level = LEVELS.get(fields.binary())
    if level is None:
        raise BadPacket("protocol")  # [MQTT-3.1.2-1]
    if fields.take(1)[0] != level:
        raise BadPacket("level", ConnectCode.LEVEL_REJECTED)  # [MQTT-3.1.2-2]
    flags = fields.take(1)[0]
    will, will_qos, login = flags & 0x04, flags >> 3 & 0x03, flags >> 6
    # [MQTT-3.1.2-3], [MQTT-3.1.2-13] to [MQTT-3.1.2-15], [MQTT-3.1.2-22]
    if flags & 0x01 or will_qos == 3 or (not will and flags & 0x38) or login == 0b01:
        raise BadPacket
    keepalive = fields.number()
    client_id = fields.text()
    if will:
        fields.text()
        fields.binary()
    username = fields.text() if login & 0b10 else ""
    password = fields.binary().decode("utf-8", "replace") if login & 0b01 else ""
    fields.end()
    return Connect(client_id, username, password, keepalive)


def read_publish(packet: Packet) -> Publish:
    """Read a PUBLISH (§3.3). Raises BadPacket: ``qos2``, ``malformed``."""
    fields = _Fields(packet, packet.flags)
    qos = packet.flags >> 1 & 0x03
    if qos == 3 or (not qos and packet.flags & 0x08):  # [MQTT-3.3.1-4], [MQTT-3.3.1-2]
        raise BadPacket
    if qos == 2:
        raise BadPacket("qos2")
    topic = fields.text()
    if not topic or "+" in topic or "#" in topic:  # [MQTT-4.7.3-1], [MQTT-3.3.2-2]
        raise BadPacket
    packet_id = fields.packet_id() if qos else 0
    return Publish(topic, fields.take(fields.left), packet_id, bool(packet.flags & 0x01))


def read_subscribe(packet: Packet) -> tuple[int, list[str]]:
    """Read a SUBSCRIBE (§3.8): its packet identifier and its topic filters. Raises BadPacket."""
    fields = _Fields(packet, 0b0010)  # [MQTT-3.8.1-1]
    packet_id = fields.packet_id()
    topics: list[str] = []
    while fields.left or not topics:  # [MQTT-3.8.3-3]
        topics.append(fields.text())
        if not topics[-1] or fields.take(1)[0] > 2:  # [MQTT-4.7.3-1], [MQTT-3-8.3-4]
            raise BadPacket
    return packet_id, topics


def read_unsubscribe(packet: Packet) -> int:
    """Read the packet identifier of an UNSUBSCRIBE (§3.10). Raises BadPacket."""
    fields = _Fields(packet, 0b0010)  # [MQTT-3.10.1-1]
    packet_id = fields.packet_id()
    fields.text()  # [MQTT-3.10.3-2]
    while fields.left:
        fields.text()
    return packet_id


def read_empty(packet: Packet) -> None:
    """Check a PINGREQ or DISCONNECT (§3.12, §3.14), which says no more. Raises BadPacket."""
    _Fields(packet, 0).end()


def read_connack(packet: Packet) -> int:
    """Read the code of a CONNACK (§3.2): 0, or why not. Raises BadPacket."""
    fields = _Fields(packet, 0)
    code = fields.number() & 0xFF  # the other byte says whether there was a session before
    fields.end()
    return code


def read_suback(packet: Packet) -> bytes:
    """Read the codes of a SUBACK (§3.9), one for each filter: QoS or 0x80. Raises BadPacket."""
    fields = _Fields(packet, 0)
    fields.packet_id()
    return fields.take(fields.left)


def connect(connect: Connect) -> bytes:
    """Return a CONNECT with a clean session and without a will (§3.1)."""
    login = (connect.client_id, connect.username, connect.password)
    return _packet(
        Kind.CONNECT,
        b"\0\4MQTT\4\xc2",
        connect.keepalive.to_bytes(2, "big"),
        *map(_string, login),
    )


def subscribe(packet_id: int, topics: Iterable[str]) -> bytes:
    """Return a SUBSCRIBE of QoS 0 (§3.8)."""
    filters = (_string(topic) + b"\0" for topic in topics)
    return _packet(Kind.SUBSCRIBE, packet_id.to_bytes(2, "big"), *filters, flags=0b0010)


def connack(code: ConnectCode) -> bytes:
    """Return a CONNACK without a session of before (§3.2)."""
    return _packet(Kind.CONNACK, bytes((0, code)))


def publish(topic: bytes, payload: bytes) -> bytes:
    """Return a PUBLISH of QoS 0 (§3.3). ``payload``: at most 256 MB."""
    return _packet(Kind.PUBLISH, len(topic).to_bytes(2, "big"), topic, payload)


def acknowledge(kind: Kind, packet_id: int, codes: bytes = b"") -> bytes:
    """Return a PUBACK, SUBACK or UNSUBACK (§3.4, §3.9, §3.11). ``codes``: a byte for each topic."""
    return _packet(kind, packet_id.to_bytes(2, "big"), codes)


def _string(text: str) -> bytes:
    data = text.encode()
    return len(data).to_bytes(2, "big") + data


def _packet(kind: Kind, *parts: bytes, flags: int = 0) -> bytes:
    head, size = bytearray((kind << 4 | flags,)), sum(map(len, parts))
    while size > 0x7F:  # §2.2.3
        head.append(size & 0x7F | 0x80)
        size >>= 7
    head.append(size)
    return b"".join((head, *parts))


PINGREQ: Final = _packet(Kind.PINGREQ)
PINGRESP: Final = _packet(Kind.PINGRESP)
"""The answer to a PINGREQ (§3.13)."""
DISCONNECT: Final = _packet(Kind.DISCONNECT)

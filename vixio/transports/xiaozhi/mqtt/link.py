"""One device's MQTT connection: takes its packets, answers them, and hands its messages on.

The firmware publishes to one topic and takes whatever is published to it
(``main/protocols/mqtt_protocol.cc``), so there is no routing: a device publishes to a topic of its
own, which goes to the owner, and the owner publishes to the device. Nothing is stored.
"""

from __future__ import annotations

import asyncio
import re
import socket
from enum import Enum, auto
from math import inf
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from vixio.core.errors import ConnectionClosed
from vixio.core.waiters import Waiters
from vixio.transports.admission.connection_tracker import TrackedConnection
from vixio.transports.admission.identity import MAX_ID_CHARS, UP_TOPIC, Identity
from vixio.transports.xiaozhi.mqtt.packets import (
    PINGRESP,
    BadPacket,
    ConnectCode,
    Kind,
    Packet,
    PacketReader,
    acknowledge,
    connack,
    publish,
    read_connect,
    read_empty,
    read_publish,
    read_subscribe,
    read_unsubscribe,
)
from vixio.transports.xiaozhi.protocol import MAX_MESSAGE_BYTES
from vixio.transports.xiaozhi.websocket.link import SEND_BUFFER_BYTES, WRITE_HIGH_WATER
from vixio.transports.xiaozhi.websocket.quota import InputQuota, Verdict

if TYPE_CHECKING:
    from vixio.transports.xiaozhi.mqtt.direct import DirectLink
    from vixio.transports.xiaozhi.mqtt.listener import MqttListener

DOWN_TOPIC: Final = "vixio/down/"
"""Before the client id: what a device's messages come under. The firmware does not look at it."""

CONNECT_TIMEOUT_S = 10.0
"""Until the CONNECT. The firmware gives up after as long (``esp_mqtt.h``)."""
CLOSE_TIMEOUT_S = 2.0
"""Until the device has read what was sent before the end, and has closed as well."""
KEEPALIVE_FACTOR = 1.5
"""[MQTT-3.1.2-24]"""
MAX_DROPPED_BYTES = 64 * 1024
"""Read behind the end, so that a reset does not overtake what was sent."""

CLOSED: Final = "closed"
DISCONNECTED: Final = "disconnected"
GONE: Final = "gone"
KEEPALIVE: Final = "keepalive"
TOO_MUCH: Final = "too_much"
"""Reasons of :meth:`MqttOwner.ended`, besides those of violations: by the server, by a DISCONNECT,
by the end of TCP, for silence, and for more than the limits of messages."""

CLIENT_ID: Final = re.compile(rf'[ -"$-*,-.0-~]{{1,{MAX_ID_CHARS}}}')
"""Printable ASCII that is one level of a topic and no wildcard (§4.7.1)."""


Link: TypeAlias = "MqttLink | DirectLink"
"""A device's connection, to this server or to a broker."""


class MqttOwner(Protocol):
    """Decides on connections and takes their messages. All methods return at once, never raise."""

    def arrived(self, peer: str) -> TrackedConnection | None:
        """Count a new connection; None turns it away at once."""

    def admit(self, link: Link) -> ConnectCode:
        """Decide on a CONNECT, and count and log its refusal."""

    def opened(self, link: Link) -> None:
        """The device has been told that it is admitted."""

    def received(self, link: Link, payload: bytes) -> None:
        """Take a message of the device, at most :data:`MAX_MESSAGE_BYTES`."""

    def ended(self, link: Link, why: str) -> None:
        """Nothing more comes from this link, or can be sent. Once for each that was opened."""

    def left(self, tracked: TrackedConnection) -> None:
        """The connection is over. Once for each arrival."""


class State(Enum):
    CONNECTING = auto()
    """No CONNECT so far."""
    JOINING = auto()
    """Admitted, and not told so yet; what arrives is kept."""
    OPEN = auto()
    ENDING = auto()
    """What is written is being sent; what arrives is dropped."""


class MqttLink(asyncio.BufferedProtocol):
    """One device's connection. The fields of its CONNECT are unverified until it is opened."""

    __slots__ = (
        "_dropped",
        "_full",
        "_gone",
        "_limit",
        "_listener",
        "_lost",
        "_packets",
        "_quota",
        "_state",
        "_tcp",
        "_writable",
        "client_id",
        "identity",
        "last_heard",
        "password",
        "peer",
        "tracked",
        "username",
    )

    identity: Identity
    """For the owner, which sets it."""
    tracked: TrackedConnection
    last_heard: float
    """When a whole packet arrived, on the loop's clock."""

    def __init__(self, listener: MqttListener) -> None:
        self.client_id = self.username = self.password = self.peer = ""
        self._listener = listener
        self._tcp: asyncio.Transport
        self._state = State.CONNECTING
        self._packets = PacketReader()
        self._quota = InputQuota(listener.limits)
        self._limit = CONNECT_TIMEOUT_S
        self._dropped = 0
        self._full = False
        self._writable = Waiters()
        self._gone = False
        self._lost = Waiters()

    @property
    def own_host(self) -> str:
        """The server's address of this connection."""
        address = self._tcp.get_extra_info("sockname")
        return str(address[0]) if address else ""

    # ── for the owner ───────────────────────────────────────────────────────────────────────────

    def publish(self, *payloads: bytes) -> bool:
        """Send messages; false, and none is sent, if they would have to wait."""
        if self._full or self._is_over():
            return False
        topic = (DOWN_TOPIC + self.client_id).encode()
        self._tcp.write(b"".join(publish(topic, payload) for payload in payloads))
        return True

    async def writable(self) -> None:
        """Wait until :meth:`publish` may succeed. Raises ConnectionClosed if it never will."""
        while self._full and not self._is_over():
            await self._writable.wait()
        if self._is_over():
            raise ConnectionClosed("the device is gone")

    def pause_reading(self) -> None:
        """Leave what arrives to the kernel. Silence is not counted meanwhile."""
        if not self._is_over():
            self._tcp.pause_reading()

    def resume_reading(self) -> None:
        """Read again."""
        self._tcp.resume_reading()

    async def close(self) -> None:
        """Send what is written, then end TCP; by force after a while. Idempotent."""
        if self._state is State.CONNECTING:
            self.abort()
        else:
            self._finish(CLOSED)
        while not self._gone:
            await self._lost.wait()

    def abort(self) -> None:
        """End TCP at once, whatever is still buffered."""
        self._tcp.abort()

    # ── for the listener ────────────────────────────────────────────────────────────────────────

    def look(self, now: float) -> None:
        """End the connection if it has been silent for too long."""
        if now - self.last_heard < self._limit:
            return
        match self._state:
            case State.CONNECTING:
                self._fail("no_connect")
            case State.ENDING:
                self.abort()
            case State.OPEN if self._tcp.is_reading():
                self._listener.counters.add(f"mqtt.closed.{KEEPALIVE}")  # a device without power
                self._end(KEEPALIVE)
                self.abort()

    def turn_away(self, code: ConnectCode) -> None:
        """Answer before the CONNECT, and close."""
        self._state = State.ENDING
        self._tcp.write(connack(code))
        self._tcp.close()

    # ── asyncio's callbacks ─────────────────────────────────────────────────────────────────────

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Bound what is buffered, and have the listener take the connection."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101  a stream's transport is one
        self._tcp = transport
        transport.set_write_buffer_limits(high=WRITE_HIGH_WATER)
        sock = transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        # For a client without a keepalive: the kernel sees in the end that it is gone.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        peer = transport.get_extra_info("peername")
        self.peer = str(peer[0]) if peer else ""
        self.last_heard = self._listener.loop.time()
        self._listener.connected(self, sock.fileno())

    def get_buffer(self, sizehint: int) -> bytearray:
        """Return where the next bytes are to be written: all connections share it."""
        return self._listener.read_buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Take the packets that are complete."""
        if self._is_over():
            self._drop(nbytes)
        else:
            self._feed(memoryview(self._listener.read_buffer)[:nbytes])

    def _feed(self, data: bytes | memoryview) -> None:
        try:
            for packet in self._packets.feed(data):
                self._take(packet)
                if self._is_over() or self._state is State.JOINING:
                    return
        except BadPacket as bad:
            self._fail(bad.reason, bad.code)

    def eof_received(self) -> None:
        """The peer sends no more; asyncio closes TCP when what is buffered has been sent."""
        self._end(GONE)

    def pause_writing(self) -> None:
        """Make senders wait."""
        self._full = True

    def resume_writing(self) -> None:
        """Let senders go on."""
        self._full = False
        self._writable.wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """End all waits."""
        self._end(GONE)
        self._gone = True
        self._lost.wake()
        self._listener.disconnected(self)

    # ── packets ─────────────────────────────────────────────────────────────────────────────────

    def _is_over(self) -> bool:
        return self._state is State.ENDING or self._tcp.is_closing()

    def _take(self, packet: Packet) -> None:
        self.last_heard = self._listener.loop.time()
        if self._state is State.CONNECTING:
            self._connect(packet)
            return
        verdict = self._quota.judge_message(len(packet.body), self.last_heard)
        if verdict is not Verdict.TAKE:
            self._listener.counters.add(f"xiaozhi.limited.{self._quota.excess.replace(' ', '_')}")
            if verdict is Verdict.CLOSE:
                raise BadPacket(TOO_MUCH)
            return
        match packet.kind:
            case Kind.PUBLISH:
                self._published(packet)
            case Kind.PINGREQ:
                read_empty(packet)
                self._reply(PINGRESP)
            case Kind.SUBSCRIBE:
                packet_id, topics = read_subscribe(packet)
                own = DOWN_TOPIC + self.client_id
                codes = bytes(0x00 if topic == own else 0x80 for topic in topics)  # §3.9.3
                self._reply(acknowledge(Kind.SUBACK, packet_id, codes))
            case Kind.UNSUBSCRIBE:
                self._reply(acknowledge(Kind.UNSUBACK, read_unsubscribe(packet)))
            case Kind.DISCONNECT:
                read_empty(packet)
                self._finish(DISCONNECTED)
            case Kind.CONNECT:
                raise BadPacket("second_connect")  # [MQTT-3.1.0-2]
            case _:
                raise BadPacket

    def _connect(self, packet: Packet) -> None:
        if packet.kind != Kind.CONNECT:  # [MQTT-3.1.0-1]
            raise BadPacket("no_connect")
        connect = read_connect(packet)
        if not CLIENT_ID.fullmatch(connect.client_id):  # [MQTT-3.1.3-9]
            raise BadPacket("client_id", ConnectCode.IDENTIFIER_REJECTED)
        self.client_id = connect.client_id
        self.username = connect.username
        self.password = connect.password
        code = self._listener.owner.admit(self)
        self._listener.answered(self)
        if code is not ConnectCode.ACCEPTED:
            self._refuse(code)
            return
        self._packets.limit = MAX_MESSAGE_BYTES
        self._accept(connect.keepalive)

    def _accept(self, keepalive: int) -> None:
        """Tell the device that it is admitted, and the owner."""
        self._limit = keepalive * KEEPALIVE_FACTOR or inf
        self.last_heard = self._listener.loop.time()
        self._tcp.write(connack(ConnectCode.ACCEPTED))
        self._state = State.OPEN
        self._listener.owner.opened(self)

    def _published(self, packet: Packet) -> None:
        message = read_publish(packet)
        if message.topic != UP_TOPIC + self.client_id:
            raise BadPacket("topic")
        self._pass_on(message.payload)
        if message.packet_id:
            self._reply(acknowledge(Kind.PUBACK, message.packet_id))

    def _pass_on(self, payload: bytes) -> None:
        """Take a message of the device."""
        self._listener.owner.received(self, payload)

    def _reply(self, answer: bytes) -> None:
        if self._full:  # else a peer that asks and never reads would fill the memory
            raise BadPacket("not_reading")
        self._tcp.write(answer)

    # ── the end ─────────────────────────────────────────────────────────────────────────────────

    def _fail(self, reason: str, code: ConnectCode | None = None) -> None:
        """Count and log a violation, and end the connection."""
        what = "closed" if self._state is State.OPEN else "refused"
        self._listener.counters.add(f"mqtt.{what}.{reason}")
        self._listener.refused(f"mqtt_{reason}", self.tracked.address, self.client_id)
        if code is not None:
            self._refuse(code)
        else:
            self._end(reason)
            self.abort()

    def _refuse(self, code: ConnectCode) -> None:
        self._tcp.write(connack(code))
        self._finish("")

    def _finish(self, why: str) -> None:
        """Send what is written, then FIN, and drop what arrives until the peer closes too."""
        if self._is_over():
            return
        self._end(why)
        self._tcp.resume_reading()
        try:
            self._tcp.write_eof()
        except OSError:  # the peer has reset the connection, which the loop has not seen yet
            self.abort()

    def _end(self, why: str) -> None:
        """Take and send nothing more; tell the owner once."""
        if self._state is State.ENDING:
            return
        opened, self._state = self._state is State.OPEN, State.ENDING
        self._limit = CLOSE_TIMEOUT_S
        self.last_heard = self._listener.loop.time()
        self._writable.wake()
        if opened:
            self._listener.owner.ended(self, why)

    def _drop(self, nbytes: int) -> None:
        self._dropped += nbytes
        if self._dropped > MAX_DROPPED_BYTES:
            self.abort()

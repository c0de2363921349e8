"""Connections to a broker of the operator's own: the server's, which is kept up, and one for each
device where the server stands in front of the broker.

Written over the packets that the listener speaks, not over a client library: a device's connection
must cost no more than the device's own, and pass its backpressure on, in both directions.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterable
from functools import lru_cache
from typing import Final

from vixio.bus.address import BrokerAddress
from vixio.bus.errors import BrokerError
from vixio.bus.tls import client_context
from vixio.bus.upkeep import KeptConnection
from vixio.core.backoff import Backoff
from vixio.core.errors import ConnectionClosed
from vixio.core.metrics import Counters
from vixio.core.waiters import Waiters
from vixio.transports.xiaozhi.mqtt.packets import (
    DISCONNECT,
    PINGREQ,
    BadPacket,
    Connect,
    ConnectCode,
    Kind,
    Packet,
    PacketReader,
    Publish,
    connect,
    publish,
    read_connack,
    read_publish,
    read_suback,
    subscribe,
)
from vixio.transports.xiaozhi.protocol import MAX_MESSAGE_BYTES
from vixio.transports.xiaozhi.websocket.link import WRITE_HIGH_WATER

PORTS: Final = {"mqtt": 1883, "mqtts": 8883}
"""Schemes of a broker's URL, and the ports that they mean."""

KEEPALIVE_S: Final = 10
"""Of the server's connection: the broker forgets a server that is gone after 15 s."""
PING_S: Final = 2.0
SILENCE_S: Final = 6.0
"""Without an answer to its pings the server leaves a broker that hangs."""
RECONNECT: Final = Backoff(first=0.25, longest=2.0)

TOO_MANY: Final = 1024 * 1024
"""Bytes that the server's connection holds for a broker that does not read."""


class BrokerConnection(asyncio.Protocol):
    """One connection, as a client: it logs in, subscribes to ``topics`` and takes messages.

    ``took``: gets each message. ``lost``: called once when a connection that was ready has ended,
    with why.
    """

    def __init__(
        self,
        login: Connect,
        topics: Iterable[str],
        took: Callable[[Publish], None],
        lost: Callable[[str], None],
        *,
        high_water: int = WRITE_HIGH_WATER,
    ) -> None:
        loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[None] = loop.create_future()
        """Done once it is subscribed. Raises BrokerError."""
        self.heard = loop.time()
        self.full = False
        self.writable = Waiters()
        self._login = login
        self._topics = tuple(topics)
        self._took = took
        self._lost = lost
        self._loop = loop
        self._high_water = high_water
        # What is larger is no device's message, and must not cost all of them the connection.
        self._packets = PacketReader(MAX_MESSAGE_BYTES + 1024, skip=True)
        self._tcp: asyncio.Transport

    def send(self, data: bytes) -> bool:
        """Send a packet; false, and nothing is sent, if it would have to wait."""
        if self.full or self._tcp.is_closing():
            return False
        self._tcp.write(data)
        return True

    def pause_reading(self) -> None:
        """Leave what arrives to the kernel, and then to the broker."""
        self._tcp.pause_reading()

    def resume_reading(self) -> None:
        """Read again."""
        self._tcp.resume_reading()

    def close(self) -> None:
        """End it; ``lost`` is not called any more. Idempotent."""
        self._lost = lambda _why: None
        if not self._tcp.is_closing():
            self._tcp.write(DISCONNECT)
            self._tcp.close()
            if self._tcp.get_write_buffer_size():  # it does not read, and may never do
                self._tcp.abort()

    def fail(self, why: str, *, final: bool = False) -> None:
        """End it at once. Idempotent."""
        self._tcp.abort()
        lost, self._lost = self._lost, lambda _why: None
        if self.ready.done():
            lost(why)
        else:
            self.ready.set_exception(BrokerError(why, final=final))

    # ── asyncio's callbacks ─────────────────────────────────────────────────────────────────────

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Log in."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101  a stream's transport is one
        self._tcp = transport
        transport.set_write_buffer_limits(high=self._high_water)
        transport.write(connect(self._login))

    def data_received(self, data: bytes) -> None:
        """Take the packets that are complete."""
        self.heard = self._loop.time()
        try:
            for packet in self._packets.feed(data):
                self._take(packet)
                if self._tcp.is_closing():
                    return
        except BadPacket as bad:
            self.fail(f"the broker sent a packet that breaks the standard: {bad.reason}")

    def pause_writing(self) -> None:
        """Make senders wait."""
        self.full = True

    def resume_writing(self) -> None:
        """Let senders go on."""
        self.full = False
        self.writable.wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """End all waits."""
        self.writable.wake()
        self.fail("the broker closed the connection" if exc is None else "the connection was lost")

    def _take(self, packet: Packet) -> None:
        match packet.kind:
            case Kind.CONNACK if code := read_connack(packet):
                final = code in {ConnectCode.BAD_LOGIN, ConnectCode.NOT_AUTHORISED}
                what = "the user or the password is wrong" if final else f"refused with code {code}"
                self.fail(f"the broker refuses the login: {what}", final=final)
            case Kind.CONNACK if self._topics:
                self._tcp.write(subscribe(1, self._topics))
            case Kind.CONNACK:
                self._is_ready()
            case Kind.SUBACK if any(code & 0x80 for code in read_suback(packet)):
                self.fail("the broker refuses the subscription: its rules do not allow it")
            case Kind.SUBACK:
                self._is_ready()
            case Kind.PUBLISH:
                self._took(read_publish(packet))
            case Kind.PINGRESP:
                pass
            case _:
                raise BadPacket

    def _is_ready(self) -> None:
        if not self.ready.done():
            self.ready.set_result(None)


_context = lru_cache(maxsize=4)(client_context)  # reading the authorities takes 20 ms


async def dial(address: BrokerAddress, make: Callable[[], BrokerConnection]) -> BrokerConnection:
    """Return a connection that is ready. Raises BrokerError, OSError; bound it from outside."""
    host, _, port = address.hosts[0].rpartition(":")
    tls = _context(address.tls) if address.encrypted else None
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(make, host.strip("[]"), int(port), ssl=tls)
    try:
        await connection.ready
    except BaseException:
        connection.close()
        raise
    return connection


class Broker(KeptConnection):
    """The server's own connection. ``took``: gets what arrives, in order; must return at once.
    ``opened``: awaited with each new connection before it is up. Raises BrokerError, OSError.

    Counters: ``mqtt.broker.connects``, ``mqtt.broker.losses``.
    """

    def __init__(
        self,
        address: BrokerAddress,
        topics: Iterable[str],
        took: Callable[[Publish], None],
        counters: Counters,
        opened: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        super().__init__(address, backoff=RECONNECT)
        self._topics = tuple(topics)
        self._took = took
        self._counters = counters
        self._when_open = opened
        self._connection: BrokerConnection | None = None
        self._pinging: asyncio.TimerHandle | None = None

    def problem(self) -> str:
        """Return why devices cannot be served over MQTT, for readiness; empty: they can."""
        return "" if self.connected else self.fault or "connecting"

    @property
    def heard(self) -> float:
        """When anything came from the broker, on the loop's clock."""
        return self._connection.heard if self._connection is not None else 0.0

    def publish(self, topic: str, *payloads: bytes) -> bool:
        """Publish with QoS 0; false, and nothing is sent, if it would have to wait."""
        connection = self._connection
        packets = b"".join(publish(topic.encode(), payload) for payload in payloads)
        return self.connected and connection is not None and connection.send(packets)

    async def writable(self) -> None:
        """Wait until :meth:`publish` may succeed. Raises ConnectionClosed if it will not soon."""
        while (connection := self._connection) is not None and connection.full:
            await connection.writable.wait()
        if not self.connected:
            raise ConnectionClosed("the broker is gone")

    async def _open(self) -> None:
        address = self.address
        login = Connect(
            f"vixio-{secrets.token_hex(8)}", address.user, address.password, KEEPALIVE_S
        )

        def make() -> BrokerConnection:
            return BrokerConnection(login, self._topics, self._took, self.lost, high_water=TOO_MANY)

        try:
            self._connection = await dial(address, make)
        except OSError as error:
            raise BrokerError(f"cannot connect: {error.strerror or error}") from error
        self._counters.add("mqtt.broker.connects")
        self._ping(self._connection)

    async def _opened(self) -> None:
        if self._when_open is not None:
            await self._when_open()

    async def _shut(self) -> None:
        connection, self._connection = self._connection, None
        if self._pinging is not None:
            self._pinging.cancel()
        if connection is not None:
            self._counters.add("mqtt.broker.losses")
            connection.close()

    def _ping(self, connection: BrokerConnection) -> None:
        loop = asyncio.get_running_loop()
        if loop.time() - connection.heard > SILENCE_S:
            connection.fail(f"the broker has not answered for {SILENCE_S:g} s")
            return
        connection.send(PINGREQ)
        self._pinging = loop.call_later(PING_S, self._ping, connection)

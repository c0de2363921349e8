"""MQTT as a client writes it, by hand from the standard, and a listener whose owner takes notes."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from typing import Any

from tests.support.waiting import until
from tests.unit.transports.xiaozhi.support import BOUND_S
from vixio.core.metrics import Counters
from vixio.transports.admission.connection_tracker import TrackedConnection
from vixio.transports.xiaozhi.mqtt.link import Link, MqttLink
from vixio.transports.xiaozhi.mqtt.listener import MqttListener
from vixio.transports.xiaozhi.mqtt.packets import ConnectCode

DEVICE = "aa:bb:cc:dd:ee:ff"
SECRET = "token-that-no-log-may-have"
WILL = b"\0\4last\0\5words"
"""Topic and message of a will."""

ACCEPTED = b"\x20\x02\x00\x00"
PINGREQ, PINGRESP = b"\xc0\x00", b"\xd0\x00"
DISCONNECT = b"\xe0\x00"


def string(text: str | bytes) -> bytes:
    data = text if isinstance(text, bytes) else text.encode()
    return len(data).to_bytes(2, "big") + data


def packet(first: int, *parts: bytes) -> bytes:
    body = b"".join(parts)
    size, head = len(body), bytes([first])
    while size >= 128:
        head += bytes([size % 128 + 128])
        size //= 128
    return head + bytes([size]) + body


def connect(
    client_id: str | bytes = DEVICE,
    *,
    name: bytes = b"MQTT",
    level: int = 4,
    flags: int = 0xC2,
    keepalive: int = 120,
    payload: bytes | None = None,
) -> bytes:
    """Return a CONNECT with a login and a clean session. ``payload``: all behind the client id."""
    if payload is None:
        payload = string("client-uuid") + string(SECRET)
    return packet(
        0x10,
        string(name),
        bytes([level, flags]),
        keepalive.to_bytes(2, "big"),
        string(client_id),
        payload,
    )


def up(payload: bytes, topic: str = f"vixio/up/{DEVICE}", first: int = 0x30) -> bytes:
    """Return a PUBLISH of QoS 0."""
    return packet(first, string(topic), payload)


def down(payload: bytes, client_id: str = DEVICE) -> bytes:
    """Return what a device gets."""
    return packet(0x30, string(f"vixio/down/{client_id}"), payload)


class Owner:
    """Admits everything, and notes what it is told."""

    def __init__(self, code: ConnectCode = ConnectCode.ACCEPTED) -> None:
        self.code = code
        self.full = False
        self.links: list[MqttLink] = []
        self.messages: list[bytes] = []
        self.ends: list[str] = []
        self.arrivals = self.departures = 0

    def arrived(self, peer: str) -> TrackedConnection | None:
        if self.full:
            return None
        self.arrivals += 1
        return TrackedConnection(None, address=peer)

    def admit(self, link: Link) -> ConnectCode:
        assert isinstance(link, MqttLink)
        self.links.append(link)
        return self.code

    def opened(self, link: Link) -> None:
        assert link is self.links[-1]

    def received(self, link: Link, payload: bytes) -> None:
        assert link in self.links
        self.messages.append(payload)

    def ended(self, link: Link, why: str) -> None:
        assert link in self.links
        assert not link.publish(b"too late")
        self.ends.append(why)

    def left(self, tracked: TrackedConnection) -> None:
        assert not tracked.left
        tracked.left = True
        self.departures += 1


class Server:
    """A listener on a free port, what its owner noted, and its refusals."""

    def __init__(self, owner: Owner | None = None, **options: Any) -> None:  # noqa: ANN401
        self.owner = owner or Owner()
        self.counters = Counters()
        self.refused: list[tuple[str, str, str]] = []
        self.clients: list[Client] = []
        self.listener = MqttListener(
            "127.0.0.1",
            0,
            self.owner,
            counters=self.counters,
            refused=lambda *refusal: self.refused.append(refusal),
            **options,
        )

    async def dial(self, *, receive_buffer: int | None = None) -> Client:
        sock = socket.socket()
        if receive_buffer is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        sock.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", self.listener.port))
        except OSError:
            sock.close()
            raise
        streams = await asyncio.open_connection(sock=sock, limit=receive_buffer or 2**17)
        self.clients.append(Client(*streams))
        return self.clients[-1]

    @contextlib.asynccontextmanager
    async def device(
        self, client_id: str = DEVICE, *, receive_buffer: int | None = None, keepalive: int = 120
    ) -> AsyncIterator[Client]:
        """Connect a device that is admitted."""
        client = await self.dial(receive_buffer=receive_buffer)
        try:
            client.send(connect(client_id, keepalive=keepalive))
            assert await client.read(4) == ACCEPTED
            yield client
        finally:
            client.writer.transport.abort()


class Client:
    """The other end: it sends and reads bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def read(self, size: int) -> bytes:
        async with asyncio.timeout(BOUND_S):
            return await self.reader.readexactly(size)

    async def rest(self) -> bytes:
        """Return all that comes until the server has closed."""
        got = b""
        async with asyncio.timeout(BOUND_S):
            with contextlib.suppress(ConnectionResetError):
                while data := await self.reader.read(2**16):
                    got += data
        return got


@contextlib.asynccontextmanager
async def serving(owner: Owner | None = None, **options: Any) -> AsyncIterator[Server]:  # noqa: ANN401
    """Run a listener; afterwards all arrivals have left, links ended once, and nothing failed."""
    server = Server(owner, **options)
    failed: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failed.append(context))
    await server.listener.start()
    try:
        yield server
    finally:
        for client in server.clients:
            client.writer.transport.abort()
        async with asyncio.timeout(BOUND_S):
            await server.listener.stop()
    await until(lambda: server.owner.departures == server.owner.arrivals)
    if server.owner.code is ConnectCode.ACCEPTED:
        assert len(server.owner.ends) == len(server.owner.links)
    assert not failed

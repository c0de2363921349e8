"""The client's side: towards brokers that refuse, break the standard, hang or do not read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from tests.support.waiting import until
from tests.unit.transports.xiaozhi.mqtt.support import ACCEPTED, PINGREQ, packet, string
from vixio.bus.address import BrokerAddress
from vixio.core.errors import ConnectionClosed
from vixio.core.metrics import Counters
from vixio.transports.xiaozhi.mqtt import broker as broker_module
from vixio.transports.xiaozhi.mqtt.broker import Broker
from vixio.transports.xiaozhi.mqtt.packets import (
    Connect,
    Packet,
    PacketReader,
    Publish,
    connect,
    read_connect,
    read_subscribe,
    subscribe,
)

SUBACK = packet(0x90, b"\0\1\0")
LOGIN = Connect("dev", "user", "password", 10)


def one(data: bytes) -> Packet:
    (found,) = PacketReader(10_000).feed(data)
    return found


def test_what_is_written_is_read() -> None:
    assert read_connect(one(connect(LOGIN))) == LOGIN
    assert read_subscribe(one(subscribe(7, ["a/+", "b"]))) == (7, ["a/+", "b"])


def test_what_is_too_large_is_left_out() -> None:
    stream = packet(0x30, string("a")) + packet(0x30, string("b"), bytes(500)) + PINGREQ
    for size in (1, 7, 600):
        reader = PacketReader(100, skip=True)
        pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
        found = [each for piece in pieces for each in reader.feed(piece)]
        assert found == [Packet(3, 0, string("a")), Packet(12, 0, b"")]


class Peer:
    """A broker that does what ``answer`` says with what it is sent."""

    def __init__(self, answer: Callable[[asyncio.StreamWriter, bytes], None]) -> None:
        self.answer = answer
        self.read = asyncio.Event()
        self.read.set()
        self.connections = self.open = 0
        self.writer: asyncio.StreamWriter

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        self.writer = writer
        try:
            while data := await reader.read(2**16):
                self.answer(writer, data)
                await self.read.wait()
        except OSError:
            pass
        writer.transport.abort()
        self.open -= 1


def polite(writer: asyncio.StreamWriter, data: bytes) -> None:
    answers = {0x10: ACCEPTED, 0x82: SUBACK, 0xC0: b"\xd0\0"}
    writer.write(answers.get(data[0], b""))


@asynccontextmanager
async def before(
    peer: Peer, took: Callable[[Publish], None] = lambda _message: None
) -> AsyncIterator[Broker]:
    server = await asyncio.start_server(peer.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    address = BrokerAddress("mqtt", (f"127.0.0.1:{port}",), user="server", password="secret")
    broker = Broker(address, ["vixio/up/+"], took, Counters())
    await broker.start()
    try:
        yield broker
    finally:
        peer.read.set()
        await broker.close()
        server.close()
        await until(lambda: not peer.open, what="the end of all connections")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"\x20\2\0\4", "the broker refuses the login: the user or the password is wrong"),
        (b"\x20\2\0\5", "the broker refuses the login: the user or the password is wrong"),
        (b"\x20\2\0\3", "the broker refuses the login: refused with code 3"),
        (ACCEPTED + packet(0x90, b"\0\1\x80"), "its rules do not allow it"),
        (ACCEPTED + b"\x36\2\0\0", "breaks the standard"),
        (b"HTTP/1.1 400 Bad Request" + b" " * 100, "breaks the standard"),
    ],
)
async def test_a_broker_that_does_not_serve_is_said(answer: bytes, reason: str) -> None:
    peer = Peer(lambda writer, _data: writer.write(answer))
    async with before(peer) as broker:
        await until(lambda: reason in broker.problem(), what="the reason")
        assert "secret" not in broker.problem()
        await until(lambda: peer.connections > 1, what="another attempt")
        assert not broker.publish("vixio/down/a", b"x")
        with pytest.raises(ConnectionClosed):
            await broker.writable()


async def test_messages_come_in_order_whatever_stands_between_them() -> None:
    got: list[Publish] = []
    peer = Peer(polite)
    async with before(peer, got.append) as broker:
        await until(lambda: broker.connected, what="the broker")
        peer.writer.write(packet(0x30, string("vixio/up/a"), b"1"))
        peer.writer.write(packet(0x30, string("vixio/up/a"), bytes(100_000)))
        peer.writer.write(packet(0x31, string("vixio/up/b"), b"2"))
        await until(lambda: len(got) == 2, what="both")
        assert got == [Publish("vixio/up/a", b"1", 0), Publish("vixio/up/b", b"2", 0, True)]


async def test_a_broker_that_hangs_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_module, "PING_S", 0.02)
    monkeypatch.setattr(broker_module, "SILENCE_S", 0.2)
    silent = False

    def answer(writer: asyncio.StreamWriter, data: bytes) -> None:
        if not silent:
            polite(writer, data)

    peer = Peer(answer)
    async with before(peer) as broker:
        await until(lambda: broker.connected, what="the broker")
        silent = True
        await until(lambda: "has not answered" in broker.problem(), what="the reason")
        silent = False
        await until(lambda: broker.connected, what="the broker again")


async def test_a_broker_that_does_not_read_makes_senders_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(broker_module, "TOO_MANY", 64 * 1024)
    peer = Peer(polite)
    async with before(peer) as broker:
        await until(lambda: broker.connected, what="the broker")
        peer.read.clear()
        sent = 0
        while broker.publish("vixio/down/a", bytes(32_000)):
            sent += 1
            assert sent < 1_000, "it is bounded"
            await asyncio.sleep(0)
        waiting = asyncio.create_task(broker.writable())
        await asyncio.sleep(0)
        assert not waiting.done()
        peer.read.set()
        async with asyncio.timeout(30):
            await waiting
        assert broker.publish("vixio/down/a", b"x")

"""What one device sends and gets, over real sockets."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest

from tests.support.waiting import until
from tests.unit.transports.xiaozhi.mqtt.support import (
    ACCEPTED,
    DEVICE,
    DISCONNECT,
    PINGREQ,
    PINGRESP,
    SECRET,
    WILL,
    Owner,
    Server,
    connect,
    down,
    packet,
    serving,
    string,
    up,
)
from tests.unit.transports.xiaozhi.support import BOUND_S
from vixio.core.errors import ConnectionClosed
from vixio.transports.admission.limits import Limits
from vixio.transports.xiaozhi.mqtt import link as link_module
from vixio.transports.xiaozhi.mqtt import listener as listener_module
from vixio.transports.xiaozhi.mqtt.link import TOO_MUCH
from vixio.transports.xiaozhi.mqtt.packets import ConnectCode
from vixio.transports.xiaozhi.protocol import MAX_MESSAGE_BYTES


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no time limit end what something else should."""
    monkeypatch.setattr(link_module, "CONNECT_TIMEOUT_S", 1e6)
    monkeypatch.setattr(link_module, "CLOSE_TIMEOUT_S", 1e6)


@pytest.fixture
async def server(caplog: pytest.LogCaptureFixture) -> AsyncIterator[Server]:
    """A listener in which nothing may have failed, and whose log has no secret."""
    caplog.set_level(0)
    async with serving() as server:
        yield server
    assert not [record for record in caplog.get_records("call") if record.exc_info]
    assert SECRET not in caplog.text + str(server.refused)


async def test_a_device_talks_and_is_talked_to(server: Server) -> None:
    async with server.device() as device:
        (link,) = server.owner.links
        assert (link.client_id, link.username, link.password) == (DEVICE, "client-uuid", SECRET)
        assert link.peer == link.tracked.address == "127.0.0.1"
        device.send(up(b'{"type":"hello"}'))
        await until(lambda: server.owner.messages == [b'{"type":"hello"}'])
        assert link.publish(b"a", bytes(300))
        both = down(b"a") + down(bytes(300))
        assert await device.read(len(both)) == both
        device.send(PINGREQ)
        assert await device.read(2) == PINGRESP
    await until(lambda: server.owner.ends == ["gone"])
    assert not link.publish(b"late")
    assert not server.counters.snapshot()
    assert SECRET not in repr(link)


async def test_bytes_may_come_one_by_one(server: Server) -> None:
    client = await server.dial()
    for byte in connect() + up(b"words") + PINGREQ:
        client.send(bytes([byte]))
        await asyncio.sleep(0)  # the transport writes at once: the server may read here
    assert await client.read(6) == ACCEPTED + PINGRESP
    assert server.owner.messages == [b"words"]


@pytest.mark.usefixtures("patient")
async def test_many_packets_may_come_at_once(server: Server) -> None:
    client = await server.dial()
    client.send(connect() + b"".join(up(b"%d" % n) for n in range(100)) + DISCONNECT + up(b"no"))
    assert await client.rest() == ACCEPTED
    assert server.owner.messages == [b"%d" % n for n in range(100)]
    assert server.owner.ends == ["disconnected"]


async def test_the_largest_message_is_taken(server: Server) -> None:
    async with server.device() as device:
        message = bytes(MAX_MESSAGE_BYTES - 2 - len(f"vixio/up/{DEVICE}"))
        device.send(up(message))
        await until(lambda: server.owner.messages == [message])


async def test_an_older_client_is_served(server: Server) -> None:
    client = await server.dial()
    client.send(connect(name=b"MQIsdp", level=3) + PINGREQ)
    assert await client.read(6) == ACCEPTED + PINGRESP


async def test_a_will_and_retained_messages_are_forgotten(server: Server) -> None:
    client = await server.dial()
    client.send(connect(flags=0x36, payload=WILL) + up(b"kept?", first=0x31))
    assert await client.read(4) == ACCEPTED
    client.writer.transport.abort()
    await until(lambda: server.owner.ends == ["gone"])
    async with server.device() as device:
        device.send(PINGREQ)
        assert await device.read(2) == PINGRESP
    assert server.owner.messages == [b"kept?"]


async def test_qos_1_is_acknowledged_when_it_has_been_taken(server: Server) -> None:
    async with server.device() as device:
        device.send(up(b"\x12\x34one", first=0x32) + up(b"\x12\x34one", first=0x3A))
        assert await device.read(8) == b"\x40\x02\x12\x34" * 2
        assert server.owner.messages == [b"one", b"one"]


async def test_subscriptions_have_no_effect(server: Server) -> None:
    topics = ["vixio/down/" + DEVICE, "vixio/down/other", "#", "vixio/down/+", "vixio/up/" + DEVICE]
    filters = b"".join(string(topic) + b"\1" for topic in topics)
    async with server.device() as device:
        device.send(packet(0x82, b"\0\7", filters) + packet(0xA2, b"\0\x08", string("#")))
        assert await device.read(13) == b"\x90\x07\0\7\0\x80\x80\x80\x80" + b"\xb0\x02\0\x08"
        many = packet(0x82, b"\0\1", (string("a") + b"\0") * 200)
        device.send(many)
        assert await device.read(205) == b"\x90\xca\x01\0\1" + b"\x80" * 200


ABRUPT = [
    (up(b"x", "vixio/up/00:00:00:00:00:00"), "topic"),
    (up(b"x", f"vixio/up/{DEVICE.upper()}"), "topic"),
    (up(b"x", f"vixio/up/{DEVICE}/more"), "topic"),
    (up(b"x", "vixio/up/+"), "malformed"),
    (up(b"\0\1x", first=0x34), "qos2"),
    (connect(), "second_connect"),
    (packet(0x62, b"\0\1"), "malformed"),
    (packet(0x40, b"\0\1"), "malformed"),
    (packet(0x20, b"\0\0"), "malformed"),
    (packet(0x00), "malformed"),
    (packet(0xF0), "malformed"),
    (packet(0x82, b"\0\1"), "malformed"),
    (packet(0xC0, b"x"), "malformed"),
    (packet(0xE0, b"x"), "malformed"),
    (b"\x30\xff\xff\xff\xff\xff", "malformed"),
    (b"\x30\x81\x80\x04", "too_large"),
]


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(("data", "reason"), ABRUPT)
async def test_a_violation_ends_the_connection(server: Server, data: bytes, reason: str) -> None:
    async with server.device("other") as other, server.device() as device:
        device.send(up(b"before") + data + up(b"behind"))
        assert await device.rest() == b""
        assert server.owner.ends == [reason]
        assert server.owner.messages == [b"before"]
        assert server.refused == [(f"mqtt_{reason}", "127.0.0.1", DEVICE)]
        assert server.counters.snapshot() == {f"mqtt.closed.{reason}": 1}
        other.send(PINGREQ)
        assert await other.read(2) == PINGRESP


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(
    ("data", "reason", "answer"),
    [
        (PINGREQ, "no_connect", b""),
        (up(b"x"), "no_connect", b""),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(40), "malformed", b""),  # TLS
        (connect(name=b"HTTP"), "protocol", b""),
        (connect(level=5), "level", b"\x20\x02\x00\x01"),
        (b"\x10\x81\x40", "too_large", b""),
        (b"\x10\xff\xff\xff\xff", "malformed", b""),
        (connect(b"\xff"), "malformed", b""),
        *(
            (connect(client_id), "client_id", b"\x20\x02\x00\x02")
            for client_id in ("", "a/b", "a+b", "#", "a\nb", "a\x7f", "ä", "x" * 129)
        ),
    ],
)
async def test_what_is_no_connect_is_refused(
    server: Server, data: bytes, reason: str, answer: bytes
) -> None:
    client = await server.dial()
    client.send(data + up(b"behind"))
    assert await client.rest() == answer
    client.writer.close()
    await until(lambda: server.owner.departures == 1)
    assert not server.owner.links
    assert server.refused == [(f"mqtt_{reason}", "127.0.0.1", "")]
    assert server.counters.snapshot() == {f"mqtt.refused.{reason}": 1}


async def test_a_long_client_id_is_taken(server: Server) -> None:
    async with server.device('!"$*,-.~ :' + "x" * 118):
        pass


@pytest.mark.parametrize("code", [code for code in ConnectCode if code])
async def test_a_refusal_of_the_owner_is_answered(code: ConnectCode) -> None:
    async with serving(Owner(code)) as server:
        client = await server.dial()
        client.send(connect() + up(b"behind") + connect())
        assert await client.rest() == b"\x20\x02\x00" + bytes([code])
        client.send(up(b"more"))
        client.writer.close()
        await until(lambda: server.owner.departures == 1)
        assert (server.owner.messages, server.owner.ends) == ([], [])
        assert not server.counters.snapshot()  # the owner counts it
        assert not server.owner.links[0].publish(b"x")


@pytest.mark.usefixtures("patient")
async def test_a_refused_client_cannot_make_the_server_read_for_ever() -> None:
    async with serving(Owner(ConnectCode.BAD_LOGIN)) as server:
        client = await server.dial()
        client.send(connect())
        assert await client.read(4) == b"\x20\x02\x00\x04"
        async with asyncio.timeout(BOUND_S):
            while not server.owner.departures:
                client.send(bytes(2**12))
                await asyncio.sleep(0)  # the server reads meanwhile


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the listener look more often than once a second."""
    monkeypatch.setattr(listener_module, "TICK_S", 0.01)
    monkeypatch.setattr(link_module, "CLOSE_TIMEOUT_S", 0.1)


@pytest.mark.usefixtures("quick")
async def test_without_a_connect_it_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_module, "CONNECT_TIMEOUT_S", 0.1)
    async with serving() as server:
        silent, slow = await server.dial(), await server.dial()
        slow.send(connect()[:-1])
        assert (await silent.rest(), await slow.rest()) == (b"", b"")
        assert server.counters.snapshot() == {"mqtt.refused.no_connect": 2}


@pytest.mark.usefixtures("quick")
async def test_a_silent_device_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_module, "KEEPALIVE_FACTOR", 0.15)
    monkeypatch.setattr(link_module, "CLOSE_TIMEOUT_S", 1e6)
    async with (
        serving() as server,
        server.device("unlimited", keepalive=0) as unlimited,
        server.device("rare", keepalive=65_535) as rare,
        server.device(keepalive=1) as device,
    ):
        device.send(b"\x30")  # part of a packet is none
        assert await device.rest() == b""
        assert server.owner.ends == ["keepalive"]
        assert server.counters.snapshot() == {"mqtt.closed.keepalive": 1}
        assert not server.refused  # a device without power is no offence
        for other in (unlimited, rare):
            other.send(PINGREQ)
            assert await other.read(2) == PINGRESP


@pytest.mark.parametrize(
    ("keepalive", "lives", "dies"), [(1, 1.4, 1.6), (120, 179, 181), (65_535, 98_302, 98_303)]
)
async def test_a_keepalive_counts_one_and_a_half_times(
    server: Server, keepalive: int, lives: float, dies: float
) -> None:
    async with server.device(keepalive=keepalive):
        (link,) = server.owner.links
        link.look(link.last_heard + lives)
        assert not server.owner.ends
        link.look(link.last_heard + dies)
        assert server.owner.ends == ["keepalive"]


async def test_any_packet_is_a_sign_of_life(server: Server) -> None:
    async with server.device() as device:
        (link,) = server.owner.links
        for data in (PINGREQ, up(b"x"), packet(0xA2, b"\0\1", string("a"))):
            link.last_heard = 0.0
            device.send(data)
            await until(lambda: link.last_heard > 0)


async def test_a_device_that_is_not_read_from_is_not_silent(server: Server) -> None:
    async with server.device() as device:
        (link,) = server.owner.links
        link.pause_reading()
        device.send(up(b"later"))
        link.look(link.last_heard + 1e6)
        assert (server.owner.messages, server.owner.ends) == ([], [])
        link.resume_reading()
        await until(lambda: server.owner.messages == [b"later"])


async def test_a_device_that_sends_no_more_is_gone(server: Server) -> None:
    async with server.device() as device:
        device.writer.write_eof()
        assert await device.rest() == b""
        assert server.owner.ends == ["gone"]


async def test_a_reset_ends_everything_that_waits(server: Server) -> None:
    async with server.device(receive_buffer=4_096) as device:
        waiting = asyncio.create_task(fill(server).writable())
        sock = device.writer.get_extra_info("socket")
        linger = (1).to_bytes(4, "little") + (0).to_bytes(4, "little")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        device.writer.transport.abort()
        with pytest.raises(ConnectionClosed, match="gone"):
            await asyncio.wait_for(waiting, BOUND_S)
        assert server.owner.ends == ["gone"]


def fill(server: Server) -> link_module.MqttLink:
    """Send until the high-water mark; bounded, or there would be none."""
    (link,) = server.owner.links
    sent = 0
    while link.publish(bytes(1_000)):
        sent += 1
        assert sent < 10_000
    return link


async def test_a_slow_reader_makes_the_sender_wait(server: Server) -> None:
    async with server.device(receive_buffer=4_096) as device:
        link = fill(server)
        assert not link.publish(b"more")
        waiting = asyncio.create_task(link.writable())
        await asyncio.sleep(0)
        assert not waiting.done()
        reading = asyncio.create_task(device.rest())
        await asyncio.wait_for(waiting, BOUND_S)
        assert link.publish(b"at last")
        await asyncio.wait_for(link.close(), BOUND_S)
        assert (await reading).endswith(down(b"at last"))
        assert server.owner.ends == ["closed"]


async def test_answers_to_a_device_that_never_reads_are_bounded(server: Server) -> None:
    async with server.device(receive_buffer=4_096) as device:
        fill(server)
        device.send(PINGREQ)
        await until(lambda: server.owner.ends == ["not_reading"])


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("half_closed", [False, True])
async def test_closing_does_not_wait_for_a_device_that_never_reads(*, half_closed: bool) -> None:
    async with serving() as server, server.device(receive_buffer=4_096) as device:
        link = fill(server)
        if half_closed:
            device.writer.write_eof()
            await until(lambda: server.owner.ends)
        waiting = asyncio.create_task(link.writable())
        await asyncio.wait_for(asyncio.gather(link.close(), link.close()), BOUND_S)
        await until(lambda: server.owner.departures == 1)
        with pytest.raises(ConnectionClosed):
            await waiting
        await link.close()


@pytest.mark.usefixtures("patient")
async def test_what_was_sent_before_the_end_arrives(server: Server) -> None:
    async with server.device() as device:
        (link,) = server.owner.links
        link.pause_reading()
        device.send(up(b"unread"))
        assert link.publish(b"goodbye")
        closing = asyncio.create_task(link.close())
        assert await device.rest() == down(b"goodbye")
        device.writer.close()
        await asyncio.wait_for(closing, BOUND_S)
        assert server.owner.ends == ["closed"]
        assert not server.owner.messages


async def test_an_aborted_link_ends_once(server: Server) -> None:
    async with server.device() as device:
        (link,) = server.owner.links
        link.abort()
        assert not link.publish(b"x")
        with pytest.raises(ConnectionClosed):
            await link.writable()
        await asyncio.wait_for(link.close(), BOUND_S)
        assert await device.rest() == b""
        assert server.owner.ends == ["gone"]


async def test_an_owner_may_end_a_link_in_the_middle() -> None:
    class Hasty(Owner):
        def received(self, link: link_module.Link, payload: bytes) -> None:
            super().received(link, payload)
            link.abort()

    async with serving(Hasty()) as server, server.device() as device:
        device.send(up(b"\0\1first", first=0x32) + up(b"second"))
        assert await device.rest() == b""
        assert server.owner.messages == [b"first"]


@pytest.mark.parametrize("data", [PINGREQ, up(b"x"), packet(0x82, b"\0\1", string("#") + b"\0")])
async def test_a_flood_is_dropped_then_cut_off(data: bytes) -> None:
    limits = Limits(messages_per_second=10.0, message_burst=2.0)
    async with serving(limits=limits) as server, server.device("healthy") as healthy:
        async with server.device() as device:
            device.send(data * 1_000)
            await device.rest()
            assert server.owner.ends == [TOO_MUCH]
            counted = server.counters.snapshot()
            assert counted.pop("xiaozhi.limited.too_many_messages") > 1
            assert counted == {f"mqtt.closed.{TOO_MUCH}": 1}
            assert len(server.owner.messages) in {0, 20}
        healthy.send(PINGREQ)
        assert await healthy.read(2) == PINGRESP


async def test_large_messages_are_charged_by_their_bytes() -> None:
    limits = Limits(message_bytes_per_second=1_000.0, message_burst=2.0)
    async with serving(limits=limits) as server, server.device() as device:
        device.send(up(bytes(900)) + up(bytes(900)) + up(bytes(900)) + up(b"small"))
        await until(lambda: b"small" in server.owner.messages)
        assert [len(message) for message in server.owner.messages] == [900, 900, 5]


async def test_limits_may_be_off() -> None:
    limits = Limits(messages_per_second=0, message_bytes_per_second=0)
    async with serving(limits=limits) as server, server.device() as device:
        device.send(up(b"x") * 3_000 + PINGREQ)
        assert await device.read(2) == PINGRESP
        assert len(server.owner.messages) == 3_000

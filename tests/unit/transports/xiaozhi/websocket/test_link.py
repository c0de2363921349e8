"""The ends of a WebSocket that are no closing handshake, over real sockets."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator

import pytest

from tests.support.waiting import until
from tests.unit.transports.xiaozhi.support import BOUND_S, Server, running
from tests.unit.transports.xiaozhi.websocket.raw_client import BINARY, CLOSE, raw_client
from vixio.core.errors import ConnectionClosed
from vixio.core.transport import DeviceConnection

REQUEST = (
    b"GET /xiaozhi/v1/ HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    b"Device-Id: raw\r\n\r\n"
)
UNMASKED = b"\x82\x01x"
"""A frame that no client may send."""
MASKED_CLOSE = b"\x88\x80\0\0\0\0"


async def everything(server: Server, data: bytes) -> bytes:
    """Send ``data`` in one piece, and return all that comes until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.transport.port)
    writer.write(data)
    try:
        async with asyncio.timeout(BOUND_S):
            return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


@pytest.fixture
async def server(caplog: pytest.LogCaptureFixture) -> AsyncIterator[Server]:
    """A server of which nothing may be left, and in which nothing may have failed."""
    async with running(close_timeout=0.2) as server:
        yield server
        await until(lambda: server.admission.admitted == 0)
        await until(lambda: server.transport.stats()["handshakes"] == 0)
    assert not [record for record in caplog.get_records("call") if record.exc_info]


@pytest.mark.parametrize("behind", [UNMASKED, MASKED_CLOSE, MASKED_CLOSE + UNMASKED, b"\xff" * 500])
@pytest.mark.parametrize("device", [b"Device-Id: raw\r\n", b""])
async def test_what_comes_with_the_request_ends_the_connection(
    server: Server, behind: bytes, device: bytes
) -> None:
    request = REQUEST.replace(b"Device-Id: raw\r\n", device)
    assert b" 101 " not in await everything(server, request + behind)
    assert server.sessions.empty()


async def test_frames_that_come_with_the_request_are_taken(server: Server) -> None:
    hello = json.dumps({"type": "hello", "audio_params": {"format": "opus"}}).encode()
    frame = b"\x81" + bytes([0x80 | len(hello)]) + b"\0\0\0\0" + hello
    reader, writer = await asyncio.open_connection("127.0.0.1", server.transport.port)
    writer.write(REQUEST + frame)
    await server.session()
    async with asyncio.timeout(BOUND_S):
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101 ")
    writer.close()


async def test_a_request_without_a_key_is_a_failed_handshake(server: Server) -> None:
    head = REQUEST.replace(b"Sec-WebSocket-Key", b"X-Key")
    assert (await everything(server, head)).startswith(b"HTTP/1.1 400 ")
    assert server.counters.get("xiaozhi.refused.handshake") == 1


async def test_an_invalid_frame_is_closed_1002(server: Server) -> None:
    async with raw_client(server.transport.port) as client:
        await client.hello()
        session = await server.session()
        client.writer.write(UNMASKED)
        payload = await client.read_until(CLOSE)
        assert int.from_bytes(payload[:2], "big") == 1002
        await session.wait_ended()


async def test_a_device_that_sends_no_more_is_gone(server: Server) -> None:
    async with raw_client(server.transport.port) as client:
        await client.hello()
        session = await server.session()
        client.writer.write_eof()
        await session.wait_ended()
        with pytest.raises(ConnectionClosed, match="gone"):
            await session.connection.send_speech_stop()


async def test_a_device_that_neither_sends_nor_reads_is_not_waited_for() -> None:
    """It closed its half while the server's buffers were full: nothing drains them any more."""
    blocked = asyncio.Event()

    async def flood(connection: DeviceConnection) -> None:
        while True:
            await connection.send_audio([bytes(4_000)], 0)
            blocked.set()

    async with (
        running(flood, close_timeout=0.2, send_timeout=60.0) as server,
        raw_client(server.transport.port, receive_buffer=4_096) as client,
    ):
        await client.hello()
        await asyncio.wait_for(blocked.wait(), BOUND_S)
        await until(lambda: not is_writable(server))
        client.writer.write_eof()
        await until(lambda: not len(connected(server)))


async def test_packets_that_are_sent_together_are_one_write(server: Server) -> None:
    async with raw_client(server.transport.port) as client:
        await client.hello()
        connection = (await server.session()).connection
        (channel,) = connected(server)
        written: list[bytes] = []
        channel.tcp.write = written.append  # type: ignore[attr-defined]
        await connection.send_audio([b"first", b"second"], 0)
        assert written == [b"\x82\x05first\x82\x06second"]


def connected(server: Server) -> set[object]:
    return server.transport._carrier._connected  # type: ignore[attr-defined, no-any-return]


def is_writable(server: Server) -> bool:
    (channel,) = connected(server)
    return not channel._full  # type: ignore[attr-defined]


async def test_a_reset_ends_everything_that_waits(server: Server) -> None:
    async with raw_client(server.transport.port) as client:
        await client.hello()
        session = await server.session()
        await client.send(BINARY, b"\x58")
        sock = client.writer.get_extra_info("socket")
        linger = (1).to_bytes(4, "little") + (0).to_bytes(4, "little")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        client.writer.transport.abort()
        await session.wait_ended()

"""A WebSocket client without automatic pongs, reads or closing."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import AsyncIterator
from typing import Any

from tests.unit.transports.xiaozhi.support import BOUND_S, HELLO

TEXT, BINARY, CLOSE, PING, PONG = 0x1, 0x2, 0x8, 0x9, 0xA


class RawClient:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, opcode: int, payload: bytes, *, final: bool = True) -> None:
        assert len(payload) < 126
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))
        head = bytes([(0x80 if final else 0) | opcode, 0x80 | len(payload)])
        self.writer.write(head + mask + masked)
        await self.writer.drain()

    async def hello(self) -> None:
        hello = {"type": "hello", "audio_params": {"format": "opus"}}
        await self.send(TEXT, json.dumps(hello).encode())
        opcode, payload = await self.read()
        assert opcode == TEXT
        assert json.loads(payload)["type"] == HELLO["type"]

    async def read(self) -> tuple[int, bytes]:
        """Return the next frame, control frames too."""
        async with asyncio.timeout(BOUND_S):
            first, second = await self.reader.readexactly(2)
            size = second & 0x7F
            if size == 126:
                size = int.from_bytes(await self.reader.readexactly(2), "big")
            return first & 0x0F, await self.reader.readexactly(size)

    async def read_until(self, opcode: int) -> bytes:
        while True:
            got, payload = await self.read()
            if got == opcode:
                return payload


@contextlib.asynccontextmanager
async def raw_client(
    port: int, device_id: str = "raw", *, receive_buffer: int | None = None
) -> AsyncIterator[RawClient]:
    """Connect and upgrade; say nothing after."""
    sock = socket.socket()
    if receive_buffer is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    sock.setblocking(False)
    await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port))
    limit: dict[str, Any] = {} if receive_buffer is None else {"limit": receive_buffer}
    reader, writer = await asyncio.open_connection(sock=sock, **limit)
    writer.write(
        f"GET /xiaozhi/v1/ HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {'A' * 22}==\r\n"
        f"Device-Id: {device_id}\r\n\r\n".encode()
    )
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), BOUND_S)
    assert b" 101 " in head
    try:
        yield RawClient(reader, writer)
    finally:
        writer.transport.abort()

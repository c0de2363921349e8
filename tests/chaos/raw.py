"""A device made of bytes: it sends any frame, right or wrong, from any loopback address."""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Self

from tests.chaos.patience import Refused, admitted

TEXT: Final = 0x1
BINARY: Final = 0x2
CLOSE: Final = 0x8
PING: Final = 0x9
PONG: Final = 0xA

CONNECT_S: Final = 60.0
_numbers = itertools.count(1)

Json = dict[str, Any]
McpAnswer = Callable[[Json], Json | None]
"""Takes a request of the server, returns ``{"result": …}``, ``{"error": …}`` or nothing."""

HELLO: Final[Json] = {
    "type": "hello",
    "version": 1,
    "features": {"mcp": True},
    "transport": "websocket",
    "audio_params": {
        "format": "opus",
        "sample_rate": 16_000,
        "channels": 1,
        "frame_duration": 60,
    },
}


def frame(
    opcode: int, payload: bytes, *, fin: bool = True, rsv: int = 0, length: int | None = None
) -> bytes:
    """Return a masked frame; the mask is zero, so the payload stands there as it is.

    ``length`` replaces the true one in the header.
    """
    stated = len(payload) if length is None else length
    head = bytes([(0x80 if fin else 0) | rsv << 4 | opcode])
    if stated < 126:
        head += bytes([0x80 | stated])
    elif stated < 65_536:
        head += b"\xfe" + stated.to_bytes(2, "big")
    else:
        head += b"\xff" + stated.to_bytes(8, "big")
    return head + bytes(4) + payload


def fresh_address() -> str:
    """Return an unused loopback address: limits hold per address."""
    number = next(_numbers)
    return f"127.67.{number // 250 % 250}.{number % 250 + 1}"


def fresh_id(kind: str = "attacker") -> str:
    """Return an unused device id."""
    return f"{kind}-{next(_numbers)}"


async def open_tcp(
    port: int, source: str, *, receive_buffer: int = 0
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect from the loopback address ``source``."""
    sock = socket.socket()
    try:
        if receive_buffer:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        sock.setblocking(False)
        sock.bind((source, 0))
        async with asyncio.timeout(CONNECT_S):
            await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port))
            return await asyncio.open_connection(sock=sock)
    except BaseException:
        sock.close()
        raise


class RawDevice:
    """One connection. ``read`` runs beside it and keeps what the server said."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, mcp: McpAnswer | None
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._mcp = mcp
        self.said: list[Json] = []
        self.close_code: int | None = None
        self.closed = asyncio.Event()
        self._changed = asyncio.Event()
        self._reading: asyncio.Task[None] | None = None

    @classmethod
    async def connect(
        cls,
        port: int,
        source: str,
        *,
        device_id: str = "",
        version: int = 1,
        hello: Json | None = HELLO,
        mcp: McpAnswer | None = None,
        reads: bool = True,
    ) -> RawDevice:
        """Connect, upgrade and say hello (unless it is None). Raises Refused, OSError."""
        reader, writer = await open_tcp(port, source, receive_buffer=0 if reads else 4_096)
        device = cls(reader, writer, mcp)
        try:
            writer.write(
                f"GET /xiaozhi/v1/ HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
                f"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                f"Sec-WebSocket-Key: {'A' * 22}==\r\nProtocol-Version: {version}\r\n"
                f"Device-Id: {device_id or fresh_id()}\r\n\r\n".encode()
            )
            async with asyncio.timeout(CONNECT_S):
                head = await reader.readuntil(b"\r\n\r\n")
            if b" 101 " not in head:
                raise Refused(head.split(b"\r\n")[0].decode("latin-1"))
        except asyncio.IncompleteReadError as error:
            device.abort()
            raise Refused("closed without a word") from error
        except BaseException:
            device.abort()
            raise
        if reads:
            device._reading = asyncio.create_task(device._read())
        if hello is not None:
            await device.json(hello)
        if hello is not None and reads:
            await device.until("hello")
        return device

    @classmethod
    async def admitted(cls, port: int, source: str, **options: Any) -> RawDevice:  # noqa: ANN401  as above
        """Connect as :meth:`connect` does, and come again when asked to wait."""
        return await admitted(lambda: cls.connect(port, source, **options))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.leave()

    async def leave(self) -> None:
        """Vanish."""
        self.abort()
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait([self._reading])

    def abort(self) -> None:
        """End the TCP connection."""
        self._writer.transport.abort()

    def write(self, data: bytes) -> None:
        """Send bytes without a look at whether they are taken."""
        self._writer.write(data)

    async def read_bytes(self, count: int) -> bytes:
        """Read at most ``count`` bytes; for devices without another reader."""
        return await self._reader.read(count)

    async def send(self, data: bytes) -> None:
        """Send bytes. Raises ConnectionError when the server has closed."""
        if self.closed.is_set() or self._writer.transport.is_closing():
            raise ConnectionResetError("the server has closed")
        self._writer.write(data)
        async with asyncio.timeout(60):
            await self._writer.drain()

    async def text(self, text: str | bytes) -> None:
        """Send a text frame."""
        await self.send(frame(TEXT, text.encode() if isinstance(text, str) else text))

    async def json(self, body: Json) -> None:
        """Send a message."""
        await self.text(json.dumps(body))

    async def binary(self, data: bytes) -> None:
        """Send a binary frame."""
        await self.send(frame(BINARY, data))

    async def until(self, type_: str, *, seconds: float = 60.0, **fields: Any) -> Json:  # noqa: ANN401  JSON
        """Wait for a message with these fields, from now or before; take it out of ``said``."""
        wanted = {"type": type_, **fields}
        async with asyncio.timeout(seconds):
            while True:
                for message in self.said:
                    if wanted.items() <= message.items():
                        self.said.remove(message)
                        return message
                if self.closed.is_set():
                    raise ConnectionResetError(f"closed ({self.close_code})")
                self._changed.clear()
                await self._changed.wait()

    async def alive(self) -> bool:
        """Return whether the server still answers this device."""
        try:
            self.said.clear()
            await self.json({"type": "ping"})
            await self.until("pong", seconds=60)
        except (OSError, TimeoutError):
            return False
        return True

    async def ask(self, text: str, *, seconds: float = 60.0) -> str:
        """Type something; return the sentences of the answer, once all is said."""
        self.said.clear()
        await self.json({"type": "listen", "state": "detect", "text": text})
        await self.until("tts", state="stop", seconds=seconds)
        return " ".join(m["text"] for m in self.said if m.get("state") == "sentence_start")

    async def _read(self) -> None:
        try:
            while True:
                first, second = await self._reader.readexactly(2)
                size = second & 0x7F
                if size >= 126:
                    wide = await self._reader.readexactly(2 if size == 126 else 8)
                    size = int.from_bytes(wide, "big")
                self._take(first & 0x0F, await self._reader.readexactly(size))
        except (asyncio.IncompleteReadError, OSError):
            pass  # the end, which `closed` tells
        finally:
            self.closed.set()
            self._changed.set()

    def _take(self, opcode: int, payload: bytes) -> None:
        if opcode == CLOSE:
            self.close_code = int.from_bytes(payload[:2], "big") if payload else 1005
        elif opcode == PING:
            self._writer.write(frame(PONG, payload))
        elif opcode == TEXT:
            message: Json = json.loads(payload)
            if message.get("type") == "mcp" and self._mcp is not None:
                self._answer(message["payload"])
            if len(self.said) < 10_000:
                self.said.append(message)
        self._changed.set()

    def _answer(self, request: Json) -> None:
        if "id" not in request or self._mcp is None:
            return
        answer = self._mcp(request)
        if answer is not None:
            payload = {"jsonrpc": "2.0", "id": request["id"], **answer}
            text = json.dumps({"type": "mcp", "payload": payload})
            self._writer.write(frame(TEXT, text.encode()))

"""A small HTTP/1.1 server: one function answers all requests.

The HTTP servers of the field take longer for a request than the clients that are measured here.
Requests have a body of known length, responses come in chunks; connections are kept open.
"""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import NamedTuple

_END = b"\r\n\r\n"


class Response(NamedTuple):
    """``chunks`` are sent at once, each as a chunk of the transfer."""

    media: str
    chunks: Sequence[bytes]
    status: int = 200


Answer = Callable[[str, bytes], Response]
"""Takes the path and the body of a request."""


class HttpService:
    """Listens on a free port of this machine. ``answered_ms``: the time that each answer took."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._server: asyncio.Server | None = None
        self.answered_ms = array("f")

    async def start(self) -> int:
        """Listen; return the port."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def respond(self, path: str, body: bytes) -> bytes:
        """Return the bytes of a response."""
        began = perf_counter()
        response = self._answer(path, body)
        head = (
            f"HTTP/1.1 {response.status} OK\r\ncontent-type: {response.media}\r\n"
            "transfer-encoding: chunked\r\n\r\n"
        )
        parts = [head.encode()]
        parts += [b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in response.chunks if chunk]
        parts.append(b"0\r\n\r\n")
        whole = b"".join(parts)
        self.answered_ms.append((perf_counter() - began) * 1000)
        return whole

    def stop(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.close()


class _Connection(asyncio.Protocol):
    def __init__(self, service: HttpService) -> None:
        self._service = service
        self._received = bytearray()
        self._transport: asyncio.Transport | None = None
        self._path = ""
        self._body_at = 0
        self._ends_at = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - what a TCP server makes
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while self._transport is not None and self._whole_request():
            body = bytes(self._received[self._body_at : self._ends_at])
            del self._received[: self._ends_at]
            self._body_at = 0
            self._transport.write(self._service.respond(self._path, body))

    def _whole_request(self) -> bool:
        if not self._body_at:
            end = self._received.find(_END)
            if end < 0:
                return False
            first, *lines = bytes(self._received[:end]).decode("latin-1").split("\r\n")
            self._path = first.split(" ")[1]
            self._body_at = end + len(_END)
            length = 0
            for line in lines:
                name, _, value = line.partition(":")
                if name.lower() == "content-length":
                    length = int(value)
            self._ends_at = self._body_at + length
        return len(self._received) >= self._ends_at

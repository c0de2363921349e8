"""A service of the network that does what no service should: REST, and MCP over HTTP."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Awaitable, Callable
from typing import Any

from tests.chaos.rogue_mcp import MEGABYTES, greeting, tool, words

REST_KINDS = (
    "stalls",
    "trickles",
    "redirects",
    "megabytes",
    "endless",
    "bomb",
    "headers",
    "no_http",
    "closes",
    "deep",
    "no_json",
    "error",
)
"""Faults of REST; each is a path, and a tool ``rest_KIND`` beside ``rest_ok``."""

WEB_KINDS = (
    "stalls",
    "megabytes",
    "endless",
    "html",
    "error",
    "closes",
    "redirects",
)
"""Faults of MCP over HTTP; each is a tool ``web_KIND`` beside ``web_ok``."""

STALL_S = 60.0

Writer = asyncio.StreamWriter


def _head(status: str, kind: str, *more: str) -> bytes:
    lines = (f"HTTP/1.1 {status}", f"Content-Type: {kind}", "Connection: close", *more)
    return "\r\n".join((*lines, "", "")).encode()


def _whole(body: bytes, kind: str = "application/json", status: str = "200 OK") -> bytes:
    return _head(status, kind, f"Content-Length: {len(body)}") + body


async def _stall(_: Writer) -> None:
    await asyncio.sleep(STALL_S)


async def _trickle(writer: Writer) -> None:
    for byte in _whole(b'{"a": 1}'):
        writer.write(bytes([byte]))
        await asyncio.sleep(0.2)


async def _endless(writer: Writer, kind: str = "application/json") -> None:
    writer.write(_head("200 OK", kind, "Transfer-Encoding: chunked"))
    while True:
        writer.write(b"4000\r\n: " + b"x" * (0x4000 - 4) + b"\n\n" + b"\r\n")
        await writer.drain()


_BOMB = gzip.compress(b"\0" * 30_000_000)
_ANSWERS: dict[str, bytes] = {
    "ok": _whole(b'{"said": "whole"}'),
    "megabytes": _whole(b'"' + b"x" * MEGABYTES + b'"'),
    "bomb": _head("200 OK", "application/json", "Content-Encoding: gzip", "X: y") + _BOMB,
    "headers": b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * MEGABYTES,
    "no_http": b"\x16\x03\x01\x02\x00" * 1_000,
    "closes": _head("200 OK", "application/json", "Content-Length: 1000") + b'{"a":',
    "deep": _whole(b"[" * 100_000 + b"]" * 100_000),
    "no_json": _whole(b"\xff\xfe{"),
    "error": _whole(b"<html>" + b"no " * 50_000, "text/html", "500 Oh"),
    "html": _whole(b"<html>not here</html>", "text/html"),
}


class RogueService:
    """Listens on a port of the loopback interface until closed."""

    def __init__(self) -> None:
        self._server: asyncio.Server | None = None
        self._pages: dict[str, Callable[[Writer], Awaitable[None]]] = {
            "stalls": _stall,
            "trickles": _trickle,
            "endless": _endless,
        }

    async def start(self, port: int) -> None:
        """Listen."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port)

    async def _serve(self, reader: asyncio.StreamReader, writer: Writer) -> None:
        try:
            async with asyncio.timeout(STALL_S):
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                method, path, _ = head.split(" ", 2)
                sizes = [
                    int(line.split(":")[1])
                    for line in head.splitlines()
                    if line.lower().startswith("content-length:")
                ]
                body = await reader.readexactly(sum(sizes))
                if path.startswith("/mcp"):
                    await self._mcp(method, body, writer)
                else:
                    await self._page(path.strip("/"), writer)
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            pass  # the server has had enough of it
        finally:
            writer.close()

    async def _page(self, kind: str, writer: Writer) -> None:
        if kind == "redirects":
            writer.write(_head("302 Found", "text/plain", "Location: /redirects"))
        elif kind in self._pages:
            await self._pages[kind](writer)
        else:
            writer.write(_ANSWERS[kind])

    async def _mcp(self, method: str, body: bytes, writer: Writer) -> None:
        if method != "POST":
            writer.write(_whole(b"", status="405 No"))
            return
        request = json.loads(body)
        if "id" not in request or "method" not in request:
            writer.write(_whole(b"", status="202 Accepted"))
            return
        answer: dict[str, Any] = {"error": {"code": -32_601, "message": "no such method"}}
        if request["method"] == "initialize":
            answer = {"result": greeting(request)}
        elif request["method"] == "ping":
            answer = {"result": {}}
        elif request["method"] == "tools/list":
            answer = {"result": {"tools": [tool(f"web_{kind}") for kind in ("ok", *WEB_KINDS)]}}
        elif request["method"] == "tools/call":
            kind = request["params"]["name"].removeprefix("web_")
            if kind == "endless":
                await _endless(writer, "text/event-stream")
            if kind not in {"ok", "megabytes"}:
                await self._page(kind, writer)
                return
            answer = {"result": words("whole" if kind == "ok" else "x" * MEGABYTES)}
        whole = json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer})
        writer.write(_whole(whole.encode()))

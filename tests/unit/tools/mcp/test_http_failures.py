"""What an operator reads when a server over HTTP cannot be used; no secret stands in it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.support.servers import free_port
from tests.unit.tools.mcp.servers import source_of, stdio
from vixio.tools.mcp.config import McpServerConfig, Transport

HTTP: tuple[Transport, ...] = ("sse", "streamable_http")


def config_of(transport: Transport, port: int, **options: Any) -> McpServerConfig:  # noqa: ANN401 - as the config has them
    url = f"http://user:hunter2@127.0.0.1:{port}/mcp?key=hunter2"
    return stdio(transport=transport, command="", args=(), url=url, **options)


async def answer(writer: asyncio.StreamWriter, status: str, document: object = None) -> None:
    body = b"" if document is None else json.dumps(document).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
    head += "Content-Type: application/json\r\n" if body else ""
    writer.write(f"{head}\r\n".encode() + body)
    await writer.drain()
    writer.close()


async def request(reader: asyncio.StreamReader) -> dict[str, Any]:
    """Return the JSON in a request; empty if it has none."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    _, _, rest = head.partition("content-length:")
    body = await reader.readexactly(int(rest.split()[0])) if rest else b"{}"
    document = json.loads(body)
    assert isinstance(document, dict)
    return document


@asynccontextmanager
async def refusing(status: str) -> AsyncIterator[int]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request(reader)
        await answer(writer, status)

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


async def reason(config: McpServerConfig) -> str:
    async with source_of(config) as source:
        assert source.tools() == ()
        (fault,) = source.faults
        return fault.reason


@pytest.mark.parametrize("transport", HTTP)
@pytest.mark.parametrize("status", ["401 Unauthorized", "404 Not Found", "503 Busy"])
async def test_an_http_error_is_named(transport: Transport, status: str) -> None:
    async with refusing(status) as port:
        said = await reason(config_of(transport, port))
        assert said.startswith(f"127.0.0.1:{port} answered HTTP {status}")


@pytest.mark.parametrize("transport", HTTP)
async def test_a_server_that_is_not_there(transport: Transport) -> None:
    port = free_port()
    assert await reason(config_of(transport, port)) == (
        f"nothing answers at 127.0.0.1:{port}: does the server run there?"
    )


@pytest.mark.parametrize("transport", HTTP)
async def test_a_server_that_does_not_answer(transport: Transport) -> None:
    async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(silence, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        assert await reason(config_of(transport, port, connect_timeout=0.5)) == (
            "no answer within 0.5 s"
        )


async def test_a_list_that_does_not_end() -> None:
    """Each page names the next one: without a bound, the listing would go on for ever."""
    pages = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal pages
        asked = await request(reader)
        result: dict[str, Any] = {}
        if asked.get("method") == "initialize":
            result = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "endless", "version": "1"},
            }
        elif asked.get("method") == "tools/list":
            pages += 1
            result = {"tools": [], "nextCursor": str(pages)}
        elif "id" not in asked:
            await answer(writer, "202 Accepted")
            return
        else:
            error = {"code": -32601, "message": "unknown"}
            await answer(writer, "200 OK", {"jsonrpc": "2.0", "id": asked["id"], "error": error})
            return
        await answer(writer, "200 OK", {"jsonrpc": "2.0", "id": asked["id"], "result": result})

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        assert await reason(config_of("streamable_http", port)) == "its list of tools does not end"
    assert pages >= 20

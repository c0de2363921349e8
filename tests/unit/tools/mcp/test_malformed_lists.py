"""A server over HTTP that lists malformed tools, or ends the stream for its own messages."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from tests.session.conversation import on_virtual_time
from tests.support.waiting import until
from tests.unit.tools.mcp.servers import source_of, stdio
from vixio.core.backoff import Backoff
from vixio.core.clock import now
from vixio.core.tools.types import JsonObject
from vixio.tools.mcp.config import STEADY_SECONDS, McpServerConfig
from vixio.tools.mcp.streams import GrowingPauses

GOOD: JsonObject = {"name": "good", "inputSchema": {"type": "object", "properties": {}}}
NEVER = Backoff(first=1e6, longest=1e6)


class Server:
    """Speaks the protocol over HTTP; its tools are ``tools``, and each GET stream ends at once."""

    def __init__(self, tools: object) -> None:
        self.tools = tools
        self.streams = 0
        self.port = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[McpServerConfig]:
        async with await asyncio.start_server(self._serve, "127.0.0.1", 0) as server:
            self.port = server.sockets[0].getsockname()[1]
            url = f"http://127.0.0.1:{self.port}/mcp"
            yield stdio(transport="streamable_http", command="", args=(), url=url, reconnect=NEVER)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        _, _, rest = head.partition("content-length:")
        asked = json.loads(await reader.readexactly(int(rest.split()[0]))) if rest else {}
        if head.startswith("get"):
            self.streams += 1
            await self._send(writer, "200 OK", "text/event-stream", b"retry: 1\n\n")
        elif "id" not in asked:
            await self._send(writer, "202 Accepted")
        else:
            body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], **self._answer(asked)})
            await self._send(writer, "200 OK", "application/json", body.encode())
        writer.close()

    def _answer(self, asked: JsonObject) -> JsonObject:
        match asked["method"]:
            case "initialize":
                result: JsonObject = {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "odd", "version": "1"},
                }
            case "tools/list":
                result = {"tools": self.tools}
            case "tools/call":
                result = {"content": [{"type": "text", "text": "done"}]}
            case _:
                return {"error": {"code": -32601, "message": "unknown"}}
        return {"result": result}

    async def _send(
        self, writer: asyncio.StreamWriter, status: str, kind: str = "", body: bytes = b""
    ) -> None:
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close"]
        lines += ["Mcp-Session-Id: s1", *([f"Content-Type: {kind}"] if kind else [])]
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        await writer.drain()


@pytest.mark.parametrize(
    ("bad", "place", "mistake"),
    [
        ({"name": "noschema"}, "noschema", "inputSchema: Field required"),
        ({"name": "x", "inputSchema": None}, "x", "inputSchema: Input should be a valid dict"),
        ({"name": "x", "inputSchema": []}, "x", "inputSchema: Input should be a valid dict"),
        ({"inputSchema": {}}, "tool 1", "name: Field required"),
        ({"name": 3, "inputSchema": {}}, "tool 1", "name: Input should be a valid string"),
        ({**GOOD, "name": "x", "description": 3}, "x", "description: Input should be a valid"),
        ({**GOOD, "name": "x", "annotations": "none"}, "x", "annotations: Input should be"),
        ("tool", "tool 1", "the entry: Input should be a valid dictionary"),
        (None, "tool 1", "the entry: Input should be a valid dictionary"),
    ],
)
async def test_a_malformed_tool_costs_itself(
    bad: Any,  # noqa: ANN401 - any JSON
    place: str,
    mistake: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with Server([bad, GOOD]).running() as config, source_of(config) as source:
        assert [tool.name for tool in source.tools()] == ["good"]
        (fault,) = source.faults
        assert fault.place == f"{config.name}/{place}"
        assert fault.reason.startswith(mistake)
    logged = [vars(each) for each in caplog.records if each.levelno == logging.WARNING]
    assert [(each["location"], each["reason"]) for each in logged] == [(fault.place, fault.reason)]


async def test_a_list_that_is_none_is_named() -> None:
    async with Server("tools").running() as config, source_of(config) as source:
        assert source.tools() == ()
        (fault,) = source.faults
        assert fault.reason.startswith("its answer is malformed: tools: Input should be a valid")


async def test_a_stream_that_ends_is_asked_for_again_behind_a_pause() -> None:
    server = Server([GOOD])
    async with server.running() as config, source_of(config) as source:
        await until(lambda: server.streams == 1, what="the first stream")
        for _ in range(20):  # each of them takes the SDK's own pause of one millisecond
            answer = await source.call_tool("good", {})
            assert answer.result == "done"
        assert server.streams == 1


@on_virtual_time
async def test_the_pauses_grow_up_to_the_longest_and_begin_anew_behind_a_steady_stream() -> None:
    pauses = GrowingPauses(Backoff(first=1.0, longest=8.0, jitter=0.0))

    async def asked(method: str = "GET") -> float:
        began = now()
        await pauses.before(httpx2.Request(method, "http://127.0.0.1/mcp"))
        return now() - began

    assert [await asked() for _ in range(6)] == [0, 1, 2, 4, 8, 8]
    assert await asked("POST") == 0
    assert await asyncio.create_task(asked()) == 0, "a stream of another task"
    await asyncio.sleep(STEADY_SECONDS)
    assert [await asked() for _ in range(2)] == [1, 2]

"""Tool servers that connect to an access point, as users' programs do.

:class:`WebSocketServer` speaks MCP over the WebSocket itself, as the JavaScript clients of the
ecosystem do; :func:`piped` connects a program that speaks it over its standard input and output, as
``mcp_pipe.py`` of 78/mcp-calculator does.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.support import warm

Handler = Callable[[dict[str, Any]], Awaitable[dict[str, Any] | None]]


def tool(name: str, description: str = "", **properties: str) -> dict[str, Any]:
    """Return a tool of a list. ``properties``: types by name."""
    schema = {"type": "object", "properties": {key: {"type": t} for key, t in properties.items()}}
    return {"name": name, "description": description or name, "inputSchema": schema}


def said(text: str) -> dict[str, Any]:
    """Return the result of a call."""
    return {"content": [{"type": "text", "text": text}]}


class WebSocketServer:
    """One connection. ``on_call`` answers calls by default with the arguments as JSON."""

    def __init__(
        self, client: ClientConnection, name: str, tools: Sequence[dict[str, Any]]
    ) -> None:
        self.client = client
        self.name = name
        self.tools = list(tools)
        self.seen: list[dict[str, Any]] = []
        self.calls: list[dict[str, Any]] = []
        self.answer: Callable[[dict[str, Any]], Awaitable[dict[str, Any] | None]] = self._said
        self.silent: set[str] = set()
        """Methods that are not answered."""

    async def run(self) -> None:
        """Answer until the connection ends."""
        tasks: set[asyncio.Task[None]] = set()
        with contextlib.suppress(ConnectionClosed):
            async for text in self.client:
                message = json.loads(text)
                self.seen.append(message)
                task = asyncio.create_task(self._handle(message))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
        for task in tasks:
            task.cancel()

    async def change(self, *tools: dict[str, Any]) -> None:
        """Have other tools, and say so."""
        self.tools = list(tools)
        await self.send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})

    async def send(self, message: object) -> None:
        """Send a message, or a text as it is."""
        text = message if isinstance(message, str) else json.dumps(message)
        await self.client.send(text)

    async def _said(self, params: dict[str, Any]) -> dict[str, Any] | None:
        return said(json.dumps(params["arguments"]))

    async def _handle(self, message: dict[str, Any]) -> None:
        method = message.get("method")
        if "id" not in message or method is None or method in self.silent:
            return
        result: dict[str, Any] | None = {}
        match method:
            case "initialize":
                result = {
                    "protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": {"tools": {"listChanged": True}},
                    "serverInfo": {"name": self.name, "version": "1"},
                }
            case "tools/list":
                result = {"tools": self.tools}
            case "tools/call":
                self.calls.append(message["params"])
                result = await self.answer(message["params"])
        if result is not None:
            with contextlib.suppress(ConnectionClosed):
                await self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})


@contextlib.asynccontextmanager
async def server_at(
    url: str, name: str = "lamps", *tools: dict[str, Any], silent: Sequence[str] = ()
) -> AsyncIterator[WebSocketServer]:
    """Connect a server with these tools."""
    async with connect(url, close_timeout=1, max_size=None) as client:
        server = WebSocketServer(client, name, tools)
        server.silent = set(silent)
        task = asyncio.create_task(server.run())
        try:
            yield server
        finally:
            await client.close()
            await asyncio.wait((task,))


@contextlib.asynccontextmanager
async def piped(url: str, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Connect a program of Python that is an MCP server over stdio."""
    async with connect(url, close_timeout=1, max_size=None) as client:
        process = await warm.create_subprocess_exec(
            sys.executable,
            *arguments,
            cwd=Path.cwd(),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=warm.kept(),
        )
        assert process.stdin is not None
        assert process.stdout is not None
        output = process.stdout

        async def out() -> None:
            async for line in output:
                await client.send(line.decode())  # with its end of line, as mcp_pipe.py does

        async def into(stdin: asyncio.StreamWriter) -> None:
            async for text in client:
                stdin.write(f"{text!s}\n".encode())
                await stdin.drain()

        tasks = [asyncio.create_task(out()), asyncio.create_task(into(process.stdin))]
        try:
            yield process
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if process.returncode is None:
                process.kill()
            await process.wait()

"""The streams of ``mcp.Client`` over a link. Importing this module imports the MCP SDK."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCMessage, JSONRPCResponse, jsonrpc_message_adapter
from pydantic import ValidationError

from vixio.core.errors import ConnectionClosed
from vixio.tools.mcp.connection import McpConnection
from vixio.tools.mcp.streams import ToolSieve, WatchedStream, mended
from vixio.web.access.link import AccessLink

LONG: Final = 32 * 1024
"""Characters of a message that is read in a thread."""

MAX_PARTS: Final = 64
"""Of an answer: the SDK validates all of them on the event loop."""

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600

__all__ = ["McpConnection", "streams_over"]


@asynccontextmanager
async def streams_over(
    link: AccessLink, ended: Callable[[], None], sieve: ToolSieve
) -> AsyncIterator[Any]:
    """Give the two streams. ``ended`` is called when no more comes; ``sieve`` sees all answers."""
    taken, reading = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    writing, given = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        async with taken:
            while True:
                try:
                    text = await link.inbox.get()
                    message = await _read(link, str(text))
                    if message is not None:
                        await taken.send(SessionMessage(message))
                except (EOFError, ConnectionClosed, anyio.BrokenResourceError):
                    return

    async def write() -> None:
        async with given:
            async for message in given:
                try:
                    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await link.send(text)
                except ConnectionClosed:
                    return

    async with anyio.create_task_group() as tasks, reading, writing:
        tasks.start_soon(read)
        tasks.start_soon(write)
        try:
            yield WatchedStream(reading, ended, sieve), writing
        finally:
            tasks.cancel_scope.cancel()


async def _read(link: AccessLink, text: str) -> JSONRPCMessage | None:
    """Return a message; None for what is none, which is answered."""
    try:
        message = await asyncio.to_thread(_parsed, text) if len(text) > LONG else _parsed(text)
    except ValueError as error:
        found = mended(error) if isinstance(error, ValidationError) else error
        if not isinstance(found, SessionMessage):
            code, words = _mistake(text)
            link.malformed(words)
            answer = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": words}}
            await link.send(json.dumps(answer))
            return None
        message = found.message
    if isinstance(message, JSONRPCError) and message.id is None:
        return None  # to something that this side did not ask; answering it would have no end
    if isinstance(message, JSONRPCResponse):
        parts = message.result.get("content")
        if isinstance(parts, list):
            del parts[MAX_PARTS:]
    return message


def _parsed(text: str) -> JSONRPCMessage:
    return jsonrpc_message_adapter.validate_json(text, by_name=False)


def _mistake(text: str) -> tuple[int, str]:
    """Return the code and the words for a text that is no message (JSON-RPC 2.0 section 5.1)."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return PARSE_ERROR, "this is no JSON"
    if isinstance(found, list):
        return INVALID_REQUEST, "batches are not taken: send one message at a time"
    return INVALID_REQUEST, "this is no JSON-RPC 2.0 message"

"""The streams to an MCP server, as ``mcp.Client`` takes them: the SDK's transports, watched.

The SDK's interface for a transport is public (``mcp.client.Transport``: a context manager that
yields a read and a write stream), so a transport of one's own can stand in front of another. This
one reports the end of the read stream, bounds lists of tools, and collects what a process writes to
its standard error. Importing this module imports the SDK.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any

import httpx2
from mcp import StdioServerParameters, stdio_client
from mcp.client import Transport
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import JSONRPCResponse

from vixio.tools.bounds import MAX_TOOLS
from vixio.tools.mcp.config import McpServerConfig
from vixio.tools.mcp.stderr import StderrLog, stderr_log

STREAM_TIMEOUT_S = 300.0
"""Without anything on an HTTP stream, keep-alives included. The SDK's own default."""


class WatchedStream:
    """A read stream (``mcp``'s ``ReadStream``). ``ended`` is called when it has ended."""

    def __init__(self, stream: Any, ended: Callable[[], None]) -> None:  # noqa: ANN401 - the SDK's protocol is private
        self._stream = stream
        self._ended = ended

    @property
    def last_context(self) -> Any:  # noqa: ANN401 - as above
        """What the SDK reads with ``getattr``: the context of the sender."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> Any:  # noqa: ANN401 - as above
        """Return the next message."""
        return _cut(await self._stream.receive())

    async def aclose(self) -> None:
        """Close it."""
        await self._stream.aclose()

    def __aiter__(self) -> WatchedStream:
        return self

    async def __anext__(self) -> Any:  # noqa: ANN401 - as above
        try:
            return _cut(await anext(self._stream))
        except Exception:
            # Its end (StopAsyncIteration) or its failure: nothing more will come.
            self._ended()
            raise

    async def __aenter__(self) -> WatchedStream:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        left: bool | None = await self._stream.__aexit__(kind, error, trace)
        return left


def _cut(item: Any) -> Any:  # noqa: ANN401 - as above
    """Keep as many tools of a page as can be used, and one more that shows that there were more.

    The SDK validates each of them on the event loop: ten thousand take half a second.
    """
    message = getattr(item, "message", None)
    tools = message.result.get("tools") if isinstance(message, JSONRPCResponse) else None
    if isinstance(tools, list):
        del tools[MAX_TOOLS + 1 :]
    return item


Refused = Callable[[int, str], None]
"""Receives status and phrase of an HTTP error."""


def open_streams(
    config: McpServerConfig,
    stderr: StderrLog,
    ended: Callable[[], None],
    refused: Refused,
) -> Transport:
    """Return the transport of a server, to be entered once.

    ``ended`` is called when the server has closed its side, ``refused`` for each HTTP error: the
    SDK's own exceptions do not say which it was.
    """
    match config.transport:
        case "stdio":
            return _stdio(config, stderr, ended)
        case "sse":
            return _sse(config, ended)
        case "streamable_http":
            return _streamable_http(config, ended, refused)


@asynccontextmanager
async def _stdio(
    config: McpServerConfig, stderr: StderrLog, ended: Callable[[], None]
) -> AsyncIterator[Any]:
    parameters = StdioServerParameters(
        command=config.command,
        args=list(config.args),
        env=dict(config.env),
        cwd=config.cwd or None,
        # One byte that is not UTF-8 would end the SDK's reading without a sign.
        encoding_error_handler="replace",
    )
    async with stderr_log(stderr) as errlog, stdio_client(parameters, errlog) as (reading, writing):
        errlog.close()  # the child has it; the end of the file is then the child's end
        yield WatchedStream(reading, ended), writing


@asynccontextmanager
async def _sse(config: McpServerConfig, ended: Callable[[], None]) -> AsyncIterator[Any]:
    client = sse_client(config.url, dict(config.headers), config.connect_timeout, STREAM_TIMEOUT_S)
    async with client as (reading, writing):
        yield WatchedStream(reading, ended), writing


@asynccontextmanager
async def _streamable_http(
    config: McpServerConfig, ended: Callable[[], None], refused: Refused
) -> AsyncIterator[Any]:
    async def look(response: httpx2.Response) -> None:
        if response.is_error and response.request.method == "POST":  # a GET stream is optional
            refused(response.status_code, response.reason_phrase)

    async with (
        httpx2.AsyncClient(
            headers=dict(config.headers),
            timeout=httpx2.Timeout(config.connect_timeout, read=STREAM_TIMEOUT_S),
            event_hooks={"response": [look]},
        ) as http,
        streamable_http_client(config.url, http_client=http) as (reading, writing),
    ):
        yield WatchedStream(reading, ended), writing

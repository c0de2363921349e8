"""The streams to an MCP server, as ``mcp.Client`` takes them: the SDK's transports, watched.

The SDK's interface for a transport is public (``mcp.client.Transport``: a context manager that
yields a read and a write stream), so a transport of one's own can stand in front of another. This
one reports the end of the read stream, bounds and sifts lists of tools, spaces out what asks for a
stream again and again, and collects what a process writes to its standard error. Importing this
module imports the SDK.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any
from weakref import WeakKeyDictionary

import httpx2
from mcp import StdioServerParameters, Tool, stdio_client
from mcp.client import Transport
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCResponse, jsonrpc_message_adapter
from pydantic import ValidationError

from vixio.core.backoff import Backoff
from vixio.core.environment_proxy import proxy_for
from vixio.core.errors import ConfigError, ToolError
from vixio.core.well_formed import well_formed
from vixio.tools.bounds import MAX_NAME_CHARS, MAX_TOOLS
from vixio.tools.mcp.config import STEADY_SECONDS, McpServerConfig
from vixio.tools.mcp.stderr import StderrLog, stderr_log
from vixio.tools.rest.network import addresses_of

STREAM_TIMEOUT_S = 300.0
"""Without anything on an HTTP stream, keep-alives included. The SDK's own default."""


class ToolSieve:
    """Leaves out of a list of tools what cannot be used.

    The SDK validates a whole page at once, on the event loop: one malformed entry makes it refuse
    all, and ten thousand take half a second. ``strict``: look for malformed ones, which are kept in
    ``malformed``, each name with its mistake.
    """

    def __init__(self) -> None:
        self.strict = False
        self.malformed: dict[str, str] = {}

    def __call__(self, item: Any) -> Any:  # noqa: ANN401 - the SDK's message, or an error
        """Keep as many tools as can be used, and one more that shows that there were more."""
        if isinstance(item, ValidationError):
            item = mended(item)
        message = getattr(item, "message", None)
        tools = message.result.get("tools") if isinstance(message, JSONRPCResponse) else None
        if isinstance(tools, list):
            del tools[MAX_TOOLS + 1 :]
            if self.strict:
                tools[:] = [entry for at, entry in enumerate(tools) if self._is_tool(entry, at)]
        return item

    def _is_tool(self, entry: object, at: int) -> bool:
        try:
            Tool.model_validate(entry)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"])) or "the entry"
            name = entry.get("name") if isinstance(entry, dict) else None
            named = name if isinstance(name, str) and name else f"tool {at + 1}"
            self.malformed[named[:MAX_NAME_CHARS]] = f"{place}: {first['msg']}"
            return False
        return True


def mended(error: ValidationError) -> Any:  # noqa: ANN401 - as below
    """Return the message that the SDK could not read for half of a surrogate pair in a text.

    Its call would wait for its whole time-out. Anything else is the error that it was.
    """
    line = error.errors()[0]["input"]
    try:
        text = json.dumps(json.loads(line), ensure_ascii=False)
        return SessionMessage(jsonrpc_message_adapter.validate_json(well_formed(text)))
    except (TypeError, ValueError, RecursionError):
        return error


class GrowingPauses:
    """Delays a request for a stream that the same task has asked for before.

    The SDK asks once a second for ever for a stream that the server ends. After one that lasted
    :data:`STEADY_SECONDS` the pauses begin anew.
    """

    def __init__(self, backoff: Backoff) -> None:
        self._backoff = backoff
        self._asked: WeakKeyDictionary[asyncio.Task[Any], tuple[int, float]] = WeakKeyDictionary()

    async def before(self, request: httpx2.Request) -> None:
        """Wait before ``request`` is sent (a hook of the HTTP client)."""
        task = asyncio.current_task()
        if request.method != "GET" or task is None:
            return
        loop = asyncio.get_running_loop()
        failures, since = self._asked.get(task, (-1, loop.time()))
        failures = 1 if loop.time() - since >= STEADY_SECONDS else failures + 1
        if failures > 0:
            await asyncio.sleep(self._backoff.delay(failures))
        self._asked[task] = failures, loop.time()


class WatchedStream:
    """A read stream (``mcp``'s ``ReadStream``). ``ended`` is called when it has ended."""

    def __init__(self, stream: Any, ended: Callable[[], None], sieve: ToolSieve) -> None:  # noqa: ANN401 - the SDK's protocol is private
        self._stream = stream
        self._ended = ended
        self._sieve = sieve

    @property
    def last_context(self) -> Any:  # noqa: ANN401 - as above
        """What the SDK reads with ``getattr``: the context of the sender."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> Any:  # noqa: ANN401 - as above
        """Return the next message."""
        return self._sieve(await self._stream.receive())

    async def aclose(self) -> None:
        """Close it."""
        await self._stream.aclose()

    def __aiter__(self) -> WatchedStream:
        return self

    async def __anext__(self) -> Any:  # noqa: ANN401 - as above
        try:
            return self._sieve(await anext(self._stream))
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


OpenStreams = Callable[[Callable[[], None], ToolSieve], Transport]
"""Makes the transport of a server that has connected by itself."""

Refused = Callable[[int, str], None]
"""Receives status and phrase of an HTTP error."""


def open_streams(
    config: McpServerConfig,
    stderr: StderrLog,
    ended: Callable[[], None],
    refused: Refused,
    sieve: ToolSieve,
) -> Transport:
    """Return the transport of a server, to be entered once.

    ``ended`` is called when the server has closed its side, ``refused`` for each HTTP error: the
    SDK's own exceptions do not say which it was. ``sieve``: sees all answers.
    """
    match config.transport:
        case "stdio":
            return _stdio(config, stderr, ended, sieve)
        case "sse":
            return _sse(config, ended, sieve)
        case "streamable_http":
            return _streamable_http(config, ended, refused, sieve)
        case "websocket":
            raise ToolError("disconnected", "it connects by itself")


@asynccontextmanager
async def _stdio(
    config: McpServerConfig, stderr: StderrLog, ended: Callable[[], None], sieve: ToolSieve
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
        yield WatchedStream(reading, ended, sieve), writing


@asynccontextmanager
async def _sse(
    config: McpServerConfig, ended: Callable[[], None], sieve: ToolSieve
) -> AsyncIterator[Any]:
    def client_of(
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            headers=headers, timeout=timeout, auth=auth, transport=_transport(config)
        )

    client = sse_client(
        config.url, dict(config.headers), config.connect_timeout, STREAM_TIMEOUT_S, client_of
    )
    async with client as (reading, writing):
        yield WatchedStream(reading, ended, sieve), writing


@asynccontextmanager
async def _streamable_http(
    config: McpServerConfig, ended: Callable[[], None], refused: Refused, sieve: ToolSieve
) -> AsyncIterator[Any]:
    async def look(response: httpx2.Response) -> None:
        if response.is_error and response.request.method == "POST":  # a GET stream is optional
            refused(response.status_code, response.reason_phrase)

    async with (
        httpx2.AsyncClient(
            headers=dict(config.headers),
            timeout=httpx2.Timeout(config.connect_timeout, read=STREAM_TIMEOUT_S),
            event_hooks={
                "request": [GrowingPauses(config.reconnect).before],
                "response": [look],
            },
            transport=_transport(config),
        ) as http,
        streamable_http_client(config.url, http_client=http) as (reading, writing),
    ):
        yield WatchedStream(reading, ended, sieve), writing


class _PublicTransport(httpx2.AsyncHTTPTransport):
    """Connects to checked addresses of the public internet only, as the tools of REST do."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request to an address of its host. Raises ToolError for a private one."""
        url = request.url
        port = url.port or (443 if url.scheme == "https" else 80)
        addresses = await addresses_of(url.host, port, allow_private=False)
        pinned = httpx2.Request(
            request.method,
            url.copy_with(host=addresses[0]),
            headers=request.headers,  # with the Host of the name
            stream=request.stream,
            # The certificate is issued for the name.
            extensions={**request.extensions, "sni_hostname": url.host},
        )
        return await super().handle_async_request(pinned)


def _transport(config: McpServerConfig) -> httpx2.AsyncHTTPTransport:
    """Return what carries the requests. Raises ToolError for a proxy that cannot be used."""
    if not config.allow_private:
        return _PublicTransport()  # a proxy would resolve names itself
    proxy = proxy_for(config.url)
    try:
        if proxy is not None:
            proxy.check("http", "https")
    except ConfigError as error:
        raise ToolError("disconnected", str(error)) from None
    return httpx2.AsyncHTTPTransport(proxy=proxy.url if proxy is not None else None)

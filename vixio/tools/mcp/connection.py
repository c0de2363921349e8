"""One connection to an MCP server, through the agent SDK's own clients.

Importing this module imports the SDK, which takes seconds: import it in a thread. One and the same
task must open and close a connection; calls may come from any task.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any

from agents.exceptions import UserError
from agents.mcp import (
    MCPServerSse,
    MCPServerStdio,
    MCPServerStdioParams,
    MCPServerStreamableHttp,
)
from mcp import ClientSession, MCPError, Tool, stdio_client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost, listen
from mcp.types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    REQUEST_TIMEOUT,
    JSONRPCResponse,
    ServerNotification,
    ToolListChangedNotification,
)

from vixio.core.errors import ToolError
from vixio.core.tools.types import JsonObject, ToolCallResult
from vixio.tools.mcp.config import McpServerConfig
from vixio.tools.mcp.content import to_result
from vixio.tools.mcp.listing import MAX_TOOLS
from vixio.tools.mcp.stderr import StderrLog, stderr_log

# These log users' words, headers and tracebacks; the source logs what an operator needs.
for _name in ("mcp.client", "mcp.shared", "client", "openai.agents"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)

_log = logging.getLogger(__name__)

MAX_LIST_PAGES = 20

LISTEN_AGAIN = 5.0
"""Seconds before a subscription that the server ended is opened again."""

_MAX_MESSAGE = 500

_OF_THE_CALL = frozenset({INVALID_PARAMS, METHOD_NOT_FOUND, INTERNAL_ERROR, REQUEST_TIMEOUT})
"""Errors of a single call; the connection is fine."""

Streams = AbstractAsyncContextManager[Any]


class McpConnection:
    """``on_change`` is called when the server's list may have changed, ``on_doubt`` when the server
    may be gone; a listing shows whether it is. ``lost`` is done when the connection has ended.
    """

    def __init__(
        self,
        config: McpServerConfig,
        on_change: Callable[[], None],
        on_doubt: Callable[[], None],
    ) -> None:
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.stderr = StderrLog(config.name)
        self._on_change = on_change
        self._on_doubt = on_doubt
        self._calls = 0
        self._listening: asyncio.Task[None] | None = None
        self._client = _client(config, self)

    @property
    def busy(self) -> bool:
        """Whether a call is under way."""
        return self._calls > 0

    async def open(self) -> None:
        """Connect and do the handshake. Raises whatever fails."""
        await self._client.connect()  # type: ignore[no-untyped-call]  # the SDK's
        self._listening = asyncio.create_task(self._listen(self._session()))

    async def list_tools(self) -> list[Tool]:
        """Return the server's whole list."""
        return await self._client.list_tools()

    async def call(self, name: str, arguments: JsonObject, timeout: float) -> ToolCallResult:
        """Call a tool. Raises ToolError."""
        # Through the session: the client serialises calls on some transports.
        asking = asyncio.ensure_future(
            self._session().call_tool(name, arguments, read_timeout_seconds=timeout + 1.0)
        )
        asking.add_done_callback(_retrieve)
        self._calls += 1
        try:
            await asyncio.wait(
                (asking, self.lost), timeout=timeout, return_when=asyncio.FIRST_COMPLETED
            )
            if asking.done() and not asking.cancelled():
                return to_result(asking.result())
            if self.lost.done() or asking.cancelled():
                raise ToolError("disconnected", "the tool's server went away", retryable=True)
            raise ToolError("timeout", f"no answer within {timeout:g} s", retryable=True)
        except ToolError:
            raise
        except MCPError as error:
            raise self._explain(error) from error
        except RuntimeError as error:
            # The SDK raises it for an answer that does not fit the schema, and quotes the answer.
            message = "the tool's answer does not fit the tool's own description"
            raise ToolError("failed", message) from error
        except Exception as error:
            self._on_doubt()
            message = "the connection to the tool's server failed"
            raise ToolError("disconnected", message, retryable=True) from error
        finally:
            self._calls -= 1
            asking.cancel()

    async def close(self) -> None:
        """Close it and end a child process. To be called by the task that opened it."""
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.wait((self._listening,))
        self.ended()
        await self._client.cleanup()  # type: ignore[no-untyped-call]  # the SDK's

    def ended(self) -> None:
        """Note that the server has closed its side."""
        if not self.lost.done():
            self.lost.set_result(None)

    async def heard(self, message: ServerNotification | Exception) -> None:
        """Handle a message that answers no request."""
        if isinstance(message, ToolListChangedNotification):
            self._on_change()
        elif isinstance(message, Exception):
            self._on_doubt()

    def _session(self) -> ClientSession:
        session = self._client.session
        if session is None:
            raise ToolError("disconnected", "the tool's server is not connected", retryable=True)
        return session

    async def _listen(self, session: ClientSession) -> None:
        """Subscribe to changes of the list; since 2026-07-28 this replaces notifications."""
        while not self.lost.done():
            try:
                async with listen(session, tools_list_changed=True) as subscription:
                    # Changes before the subscription are not reported.
                    self._on_change()
                    async for _ in subscription:
                        self._on_change()
            except ListenNotSupportedError:
                return
            except SubscriptionLost:
                pass
            except (MCPError, TimeoutError):
                return  # not supported; the list is refreshed at intervals
            except Exception as error:  # noqa: BLE001 - any error of the transport; a listing shows the cause
                _log.debug("MCP subscription broken", extra={"error": type(error).__name__})
            self._on_doubt()
            await asyncio.sleep(LISTEN_AGAIN)

    def _explain(self, error: MCPError) -> ToolError:
        if error.code == CONNECTION_CLOSED:
            self._on_doubt()
            return ToolError("disconnected", "the tool's server went away", retryable=True)
        if error.code == REQUEST_TIMEOUT:
            return ToolError("timeout", "no answer in time", retryable=True)
        if error.code not in _OF_THE_CALL:
            self._on_doubt()
        kind = "invalid_arguments" if error.code == INVALID_PARAMS else "failed"
        return ToolError(kind, " ".join(error.message.split())[:_MAX_MESSAGE])


class _Watched:
    """A read stream that reports its end, and cuts lists of tools that are too long."""

    def __init__(self, stream: Any, ended: Callable[[], None]) -> None:  # noqa: ANN401 - the SDK's own protocol
        self._stream = stream
        self._ended = ended

    @property
    def last_context(self) -> Any:  # noqa: ANN401 - as above
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> Any:  # noqa: ANN401 - as above
        return _cut(await self._stream.receive())

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> _Watched:
        return self

    async def __anext__(self) -> Any:  # noqa: ANN401 - as above
        try:
            return _cut(await anext(self._stream))
        except Exception:
            # StopAsyncIteration or a failure: the stream has ended.
            self._ended()
            raise

    async def __aenter__(self) -> _Watched:
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
    """Cut a page to the tools that can be used, plus one that shows that there were more.

    The SDK validates each tool on the event loop: ten thousand would block it for half a second.
    """
    message = getattr(item, "message", None)
    tools = message.result.get("tools") if isinstance(message, JSONRPCResponse) else None
    if isinstance(tools, list):
        del tools[MAX_TOOLS + 1 :]
    return item


@asynccontextmanager
async def _watched(streams: Streams, ended: Callable[[], None]) -> AsyncIterator[Any]:
    async with streams as (reading, writing):
        yield _Watched(reading, ended), writing


class _Stdio(MCPServerStdio):
    """The SDK's client; logs the process's standard error and notices its end."""

    connection: McpConnection

    def create_streams(self) -> Streams:
        return self._spawned()

    @asynccontextmanager
    async def _spawned(self) -> AsyncIterator[Any]:
        async with (
            stderr_log(self.connection.stderr) as errlog,
            _watched(stdio_client(self.params, errlog), self.connection.ended) as streams,
        ):
            errlog.close()  # the child has inherited it; end of file is now the child's end
            yield streams


class _Sse(MCPServerSse):
    connection: McpConnection

    def create_streams(self) -> Streams:
        return _watched(super().create_streams(), self.connection.ended)


class _StreamableHttp(MCPServerStreamableHttp):
    connection: McpConnection

    def create_streams(self) -> Streams:
        return _watched(super().create_streams(), self.connection.ended)


def _client(config: McpServerConfig, connection: McpConnection) -> _Stdio | _Sse | _StreamableHttp:
    shared: dict[str, Any] = {
        "name": config.name,
        "client_session_timeout_seconds": config.connect_timeout,
        "message_handler": connection.heard,
        "max_list_pages": MAX_LIST_PAGES,
    }
    client: _Stdio | _Sse | _StreamableHttp
    if config.transport == "stdio":
        child: MCPServerStdioParams = {
            "command": config.command,
            "args": list(config.args),
            "env": dict(config.env),
            # Otherwise one byte that is not UTF-8 silently ends the SDK's reader.
            "encoding_error_handler": "replace",
        }
        if config.cwd:
            child["cwd"] = config.cwd
        client = _Stdio(child, **shared)
    else:
        params: Any = {
            "url": config.url,
            "headers": dict(config.headers),
            "timeout": config.connect_timeout,
        }
        kind = _Sse if config.transport == "sse" else _StreamableHttp
        client = kind(params, **shared)
    client.connection = connection
    return client


def _retrieve(call: asyncio.Future[Any]) -> None:
    if not call.cancelled():
        call.exception()


def explain_failure(
    error: BaseException, config: McpServerConfig, connection: McpConnection
) -> str:
    """Return one line, without secrets, that says why a server cannot be reached."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    match error:
        case FileNotFoundError():
            missing = error.filename if error.filename == config.cwd else config.command
            return f"{missing} does not exist"
        case PermissionError():
            return f"{config.command} is not executable"
        case TimeoutError():
            return f"no answer within {config.connect_timeout:g} s"
        case MCPError() if error.code in (CONNECTION_CLOSED, REQUEST_TIMEOUT):
            said = f"; it wrote: {connection.stderr.last}" if connection.stderr.last else ""
            ended = "it ended" if config.transport == "stdio" else "the connection ended"
            if error.code == REQUEST_TIMEOUT:
                ended = f"no answer within {config.connect_timeout:g} s"
            return f"{ended}{said}"
        case MCPError():
            return " ".join(error.message.split())[:_MAX_MESSAGE]
        case UserError():
            # The SDK removes URLs with secrets from its own messages.
            return " ".join(str(error).split())[:_MAX_MESSAGE]
        case OSError():
            return error.strerror or type(error).__name__
    return type(error).__name__

"""One connection to an MCP server, through the MCP SDK's ``Client``.

Importing this module imports the SDK, which takes a while: import it in a thread. One and the same
task must open and close a connection; calls may come from any task.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, Literal

from mcp import Client, MCPError, Tool
from mcp.client import IncomingMessage
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    REQUEST_TIMEOUT,
    TextResourceContents,
    ToolListChangedNotification,
)
from pydantic import ValidationError

from vixio.core.backoff import Backoff
from vixio.core.errors import ToolError
from vixio.core.tasks import cancel_and_wait
from vixio.core.tools.types import JsonObject, ToolCallResult
from vixio.tools.bounds import MAX_TOOLS
from vixio.tools.mcp.config import STEADY_SECONDS, McpServerConfig
from vixio.tools.mcp.content import to_result
from vixio.tools.mcp.stderr import StderrLog
from vixio.tools.mcp.streams import OpenStreams, ToolSieve, open_streams

# These log users' words, headers and tracebacks; the source logs what an operator needs.
for _name in ("mcp.client", "mcp.shared", "client"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)

_log = logging.getLogger(__name__)

MAX_LIST_PAGES = 20

LISTEN_AGAIN = Backoff(first=5.0, longest=60.0)
"""Delays before a subscription that the server ended is opened again."""

_MAX_MESSAGE = 500

_OF_THE_CALL = frozenset({INVALID_PARAMS, METHOD_NOT_FOUND, INTERNAL_ERROR, REQUEST_TIMEOUT})
"""Errors of a single call; the connection is fine."""


class McpConnection:
    """``on_change`` is called when the server's list may have changed, ``on_doubt`` when the server
    may be gone; a listing shows whether it is. ``lost`` is done when the connection has ended.
    """

    def __init__(
        self,
        config: McpServerConfig,
        on_change: Callable[[], None],
        on_doubt: Callable[[], None],
        *,
        streams: OpenStreams | None = None,
        mode: Literal["auto", "legacy"] = "auto",
    ) -> None:
        """``streams``: of a server that has connected by itself. ``mode``: of the SDK; ``legacy``
        begins with ``initialize``, which every server knows."""
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.stderr = StderrLog(config.name)
        self.http_error: tuple[int, str] | None = None
        """Status and phrase of the last HTTP error since the handshake, or in it."""
        self._on_change = on_change
        self._on_doubt = on_doubt
        self._calls = 0
        self._sieve = ToolSieve()
        self._client = Client(
            streams(self._ended, self._sieve)
            if streams is not None
            else open_streams(config, self.stderr, self._ended, self._refused, self._sieve),
            mode=mode,
            read_timeout_seconds=config.connect_timeout,
            message_handler=self._heard,
            cache=None,
        )
        self._opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None

    @property
    def busy(self) -> bool:
        """Whether a call is under way."""
        return self._calls > 0

    async def open(self) -> None:
        """Connect and do the handshake. Raises whatever fails."""
        self._task = asyncio.create_task(self._run())
        await asyncio.shield(self._opened)
        self.http_error = None  # servers of older versions answer the first question with one
        self._listening = asyncio.create_task(self._listen())

    @property
    def server_name(self) -> str:
        """The name that an open server gives itself."""
        info = self._client.server_info
        return info.name if info is not None else ""

    @property
    def malformed(self) -> Mapping[str, str]:
        """The entries of the last list that are no tools: each name with its mistake."""
        return self._sieve.malformed

    async def list_tools(self) -> list[Tool]:
        """Return the server's list, complete or one more than can be used, without malformed ones.

        Raises ToolError if it does not end.
        """
        self._sieve.malformed = {}
        try:
            return await self._list()
        except ValidationError:
            if self._sieve.strict:
                raise
            self._sieve.strict = True  # from now on
            return await self._list()

    async def _list(self) -> list[Tool]:
        tools: list[Tool] = []
        cursor: str | None = None
        seen = {cursor}
        for _ in range(MAX_LIST_PAGES):
            page = await self._client.list_tools(cursor=cursor)
            tools += page.tools
            cursor = page.next_cursor
            if not cursor or len(tools) > MAX_TOOLS:
                return tools
            if cursor in seen:
                break
            seen.add(cursor)
        raise ToolError("failed", "its list of tools does not end")

    async def call(self, name: str, arguments: JsonObject, timeout: float) -> ToolCallResult:
        """Call a tool. Raises ToolError."""
        if self.lost.done():
            raise _gone()
        asking = asyncio.ensure_future(
            self._client.call_tool(name, arguments, read_timeout_seconds=timeout + 1.0)
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
                raise _gone()
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

    async def read_resource(self, uri: str, timeout: float) -> str:
        """Return the text of a resource. Raises ToolError."""
        reading = asyncio.ensure_future(self._client.read_resource(uri))
        reading.add_done_callback(_retrieve)
        try:
            await asyncio.wait(
                (reading, self.lost), timeout=timeout, return_when=asyncio.FIRST_COMPLETED
            )
            if not reading.done():
                if self.lost.done():
                    raise _gone()
                raise ToolError("timeout", f"no answer within {timeout:g} s", retryable=True)
            contents = reading.result().contents
        except ToolError:
            raise
        except MCPError as error:
            raise self._explain(error) from error
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) and not reading.cancelled():
                raise
            raise ToolError("failed", "the resource cannot be read") from error
        finally:
            reading.cancel()
        texts = [each.text for each in contents if isinstance(each, TextResourceContents)]
        if not texts:
            raise ToolError("failed", "the resource has no text")
        return "\n".join(texts)

    async def close(self) -> None:
        """Close it and end a child process. Raises whatever fails."""
        await cancel_and_wait(self._listening)
        self._ended()
        self._closing.set()
        if self._task is None:
            return
        if not self._opened.done():
            self._task.cancel()  # it is still connecting; the streams are closed all the same
        await asyncio.wait((self._task,))
        _retrieve(self._opened)
        if not self._task.cancelled():
            self._task.result()

    async def _run(self) -> None:
        """Hold the client open. A task of its own: a transport that fails cancels it."""
        try:
            async with self._client:
                self._opened.set_result(None)
                await self._closing.wait()
        except (Exception, BaseExceptionGroup) as error:
            if not self._opened.done():
                self._opened.set_exception(error)
                return
            raise
        finally:
            self._ended()
            if not self._opened.done():
                self._opened.cancel()

    def _ended(self) -> None:
        """Note that the connection is over."""
        if not self.lost.done():
            self.lost.set_result(None)

    def _refused(self, status: int, phrase: str) -> None:
        self.http_error = (status, phrase)

    async def _heard(self, message: IncomingMessage) -> None:
        """Handle a message that answers no request."""
        if isinstance(message, ToolListChangedNotification):
            self._on_change()
        elif isinstance(message, Exception):
            self._on_doubt()

    async def _listen(self) -> None:
        """Subscribe to changes of the list; since 2026-07-28 this replaces notifications."""
        loop = asyncio.get_running_loop()
        failures = 0
        while not self.lost.done():
            began = loop.time()
            try:
                async with self._client.listen(tools_list_changed=True) as subscription:
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
            failures = 1 if loop.time() - began >= STEADY_SECONDS else failures + 1
            await asyncio.sleep(LISTEN_AGAIN.delay(failures))

    def _explain(self, error: MCPError) -> ToolError:
        if error.code == CONNECTION_CLOSED:
            self._on_doubt()
            return _gone()
        if error.code == REQUEST_TIMEOUT:
            return ToolError("timeout", "no answer in time", retryable=True)
        if error.code not in _OF_THE_CALL:
            self._on_doubt()
        kind = "invalid_arguments" if error.code == INVALID_PARAMS else "failed"
        return ToolError(kind, one_line(error.message))


def one_line(message: str) -> str:
    """Return a server's message as one line of bounded length."""
    return " ".join(message.split())[:_MAX_MESSAGE]


def _gone() -> ToolError:
    return ToolError("disconnected", "the tool's server went away", retryable=True)


def _retrieve(call: asyncio.Future[Any]) -> None:
    if not call.cancelled():
        call.exception()

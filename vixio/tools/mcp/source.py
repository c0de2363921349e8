"""An MCP server as a tool source: keeps it connected and its list of tools current.

One task opens, follows and closes each connection. Without a connection the source has no tools.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING

from vixio.core.errors import ToolError
from vixio.core.imports import sdk_import
from vixio.core.tools.context import ToolContext
from vixio.core.tools.source import EVERYBODY, Fault, Scope, ToolSource
from vixio.core.tools.types import JsonObject, ToolCallResult, ToolDefinition
from vixio.tools.home_assistant.home import HomeAssistant, is_home, likely
from vixio.tools.mcp.config import STEADY_SECONDS, McpServerConfig
from vixio.tools.mcp.listing import to_definitions

if TYPE_CHECKING:
    from vixio.tools.mcp.connection import McpConnection

LISTINGS_APART = 0.2
"""Seconds between two listings; bounds the cost of a server that reports changes all the time."""

_REFUSED = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})

_log = logging.getLogger(__name__)


class McpSource(ToolSource):
    """The tools of one server, and their :class:`~vixio.core.tools.types.ToolCaller`."""

    def __init__(self, config: McpServerConfig, scope: Scope = EVERYBODY) -> None:
        super().__init__(config.name, scope)
        self.config = config
        self.connects = 0
        """Successful connections."""
        self._home = self._as_home() if likely(config.name, config.url) else None
        self._tools = self._home.tools() if self._home is not None else ()
        self._connection: McpConnection | None = None
        self._task: asyncio.Task[None] | None = None
        self._connecting: asyncio.Timeout | None = None
        self._closing = asyncio.Event()
        self._wake = asyncio.Event()
        self._known = asyncio.Event()

    def tools(self) -> Sequence[ToolDefinition]:
        """Return the server's tools; none while it is not connected.

        Of a Home Assistant those for the phrase book stay, and tell the user that it is not.
        """
        return self._tools

    @property
    def pending(self) -> bool:
        """Whether the first attempt is not over."""
        return not self._known.is_set()

    async def start(self) -> None:
        """Begin to connect in the background."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name=f"mcp {self.name}")

    async def ready(self) -> None:
        """Wait until the first attempt has succeeded or failed."""
        await self._known.wait()

    async def close(self) -> None:
        """Close the connection, and end the process behind it."""
        self._closing.set()
        self._wake.set()
        if self._connecting is not None and not self._connecting.expired():
            # Not by cancelling the task: it still has to end the process.
            self._connecting.reschedule(asyncio.get_running_loop().time())
        if self._task is not None:
            await asyncio.wait((self._task,))

    async def call_tool(
        self,
        tool_name: str,
        arguments: JsonObject,
        *,
        timeout: float | None = None,
        context: ToolContext | None = None,
    ) -> ToolCallResult:
        """Call a tool of the server; see :class:`~vixio.core.tools.types.ToolCaller`."""
        connection = self._connection
        try:
            if connection is None:
                raise ToolError("disconnected", "its server is not connected", retryable=True)
            limit = self.config.timeout if timeout is None else timeout
            return await connection.call(tool_name, arguments, limit)
        except ToolError as error:
            return ToolCallResult.failure(error)

    async def read_resource(self, uri: str, timeout: float) -> str:
        """Return the text of a resource of the server. Raises ToolError."""
        if (connection := self._connection) is None:
            raise ToolError("disconnected", "its server is not connected", retryable=True)
        return await connection.read_resource(uri, timeout)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        backoff = self.config.reconnect
        failures = 0
        while not self._closing.is_set():
            began = loop.time()
            await self._once()
            failures = 1 if loop.time() - began >= STEADY_SECONDS else failures + 1
            with suppress(TimeoutError):
                async with asyncio.timeout(backoff.delay(failures)):
                    await self._closing.wait()

    async def _once(self) -> None:
        """Connect, follow the server until the connection ends, and clean up."""
        connection: McpConnection | None = None
        try:
            connection = await self._connect()
            async with asyncio.timeout(self.config.connect_timeout) as self._connecting:
                if self._closing.is_set():
                    return
                await connection.open()
                await self._list(connection)
            self._connecting = None
            self.connects += 1
            self._connection = connection
            self._known.set()
            fields = {"server": self.name, "tool_count": len(self._tools)}
            _log.info("MCP server connected", extra=fields)
            await self._follow(connection)
            self._down("the connection ended")
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            self._down("the connection ended")  # the SDK cancelled its own tasks, not this one
        except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - third-party code
            self._down(_reason(error, self.config, connection))
        finally:
            self._connecting = None
            self._connection = None
            self._offer(self._left(connection))
            self._known.set()
            if connection is not None:
                await self._end(connection)

    async def _connect(self) -> McpConnection:
        """Return a connection that is not open yet."""
        connect = await asyncio.to_thread(_load)
        return connect(self.config, self._wake.set, self._wake.set)

    async def _follow(self, connection: McpConnection) -> None:
        """Keep the list current until the connection or this source ends."""
        connection.lost.add_done_callback(lambda _: self._wake.set())
        refresh = self.config.refresh or None
        while True:
            try:
                async with asyncio.timeout(refresh):
                    await self._wake.wait()
            except TimeoutError:
                if connection.busy:
                    continue  # some servers handle one request at a time
            self._wake.clear()
            if self._closing.is_set() or connection.lost.done():
                return
            async with asyncio.timeout(self.config.connect_timeout) as self._connecting:
                await self._list(connection)
            self._connecting = None
            await asyncio.sleep(LISTINGS_APART)

    async def _list(self, connection: McpConnection) -> None:
        tools, faults = to_definitions(await connection.list_tools(), self.config, self)
        faults += [
            Fault(f"{self.name}/{tool}", mistake) for tool, mistake in connection.malformed.items()
        ]
        if faults != self.faults:
            self.faults = faults
            for fault in faults:
                left_out = {"location": fault.place, "reason": fault.reason}
                _log.warning("tools left out", extra=left_out)
        if not is_home(tools):
            self._home = None
        else:
            self._home = self._home or self._as_home()
            tools = await self._home.take(tools, connection.call, lambda: _refuses(connection))
        self._offer(tools)

    def _as_home(self) -> HomeAssistant:
        asking = self.config.confirm != "never"
        return HomeAssistant(self.name, self.config.timeout, asking=asking)

    def _left(self, connection: McpConnection | None) -> tuple[ToolDefinition, ...]:
        """Return what is offered without a connection."""
        if self._home is None or self._closing.is_set():
            return ()
        return self._home.leave(refused=_refuses(connection))

    def _offer(self, tools: tuple[ToolDefinition, ...]) -> None:
        if tools != self._tools:
            self._tools = tools
            self.changed()

    def _down(self, reason: str) -> None:
        """Note that there is no connection; logged as a warning once until the next connection."""
        if self._closing.is_set():
            return
        was_up = self._connection is not None or not self._known.is_set()
        level = logging.WARNING if was_up else logging.DEBUG
        _log.log(level, "MCP server not connected", extra={"server": self.name, "reason": reason})
        self.faults = [Fault(self.config.place, reason)]

    async def _end(self, connection: McpConnection) -> None:
        try:
            await connection.close()
        except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - the connection is discarded anyway
            fields = {"server": self.name, "error": type(error).__name__}
            _log.debug("MCP connection did not close cleanly", extra=fields)


def _refuses(connection: McpConnection | None) -> bool:
    """Whether the last error of the server was that it does not take the token."""
    error = connection.http_error if connection is not None else None
    return error is not None and error[0] in _REFUSED


def _load() -> type[McpConnection]:
    with sdk_import():
        from vixio.tools.mcp.connection import McpConnection

    return McpConnection


def _reason(error: BaseException, config: McpServerConfig, connection: McpConnection | None) -> str:
    if connection is None:  # the SDK could not be imported
        return f"{type(error).__name__}: {error}"
    from vixio.tools.mcp.failures import explain_failure

    return explain_failure(error, config, connection)

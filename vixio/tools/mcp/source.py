"""An MCP server as a source of tools: kept connected, its list current, its failures its own.

One task opens, follows and closes each connection. While there is none the source has no tools;
they come back with it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from loguru import logger

from vixio.core.errors import ToolError
from vixio.core.imports import SDK_IMPORT
from vixio.core.tools.context import ToolContext
from vixio.core.tools.types import JsonObject, ToolCallResult, ToolDefinition
from vixio.tools.mcp.config import McpServerConfig
from vixio.tools.mcp.listing import to_definitions
from vixio.tools.source import Fault, ToolSource

if TYPE_CHECKING:
    from vixio.tools.mcp.connection import McpConnection

LISTINGS_APART = 0.2
"""Seconds between two listings: a server that reports changes without end costs five a second."""


class McpSource(ToolSource):
    """The tools of one server; runs them as well (:class:`~vixio.core.tools.device.ToolCaller`)."""

    def __init__(self, config: McpServerConfig) -> None:
        super().__init__(config.name)
        self.config = config
        self.connects = 0
        """Connections that came about."""
        self._tools: tuple[ToolDefinition, ...] = ()
        self._connection: McpConnection | None = None
        self._task: asyncio.Task[None] | None = None
        self._connecting: asyncio.Timeout | None = None
        self._closing = asyncio.Event()
        self._wake = asyncio.Event()
        self._known = asyncio.Event()

    def tools(self) -> Sequence[ToolDefinition]:
        """Return what the server offers; nothing while it is not connected."""
        return self._tools

    async def start(self) -> None:
        """Begin to connect, behind."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name=f"mcp {self.name}")

    async def ready(self) -> None:
        """Wait until the first attempt has succeeded or failed."""
        await self._known.wait()

    async def close(self) -> None:
        """End the connection, and the process behind it."""
        self._closing.set()
        self._wake.set()
        if self._connecting is not None and not self._connecting.expired():
            # The task itself must not be cancelled: it has a process to end.
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
        """Call a tool of the server; see :class:`~vixio.core.tools.device.ToolCaller`."""
        connection = self._connection
        try:
            if connection is None:
                raise ToolError("disconnected", "the tool's server is not there", retryable=True)
            limit = self.config.timeout if timeout is None else timeout
            return await connection.call(tool_name, arguments, limit)
        except ToolError as error:
            return ToolCallResult.failure(error)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        pauses = self.config.pauses
        pause = pauses.first
        while not self._closing.is_set():
            began = loop.time()
            await self._once()
            if loop.time() - began >= pauses.steady:
                pause = pauses.first
            try:
                async with asyncio.timeout(pause * random.uniform(0.5, 1.0)):  # noqa: S311 - jitter
                    await self._closing.wait()
            except TimeoutError:
                pause = min(pause * 2, pauses.longest)

    async def _once(self) -> None:
        """Connect, follow the server for as long as it is there, and clean up."""
        connection: McpConnection | None = None
        try:
            connect = await asyncio.to_thread(_load)
            connection = connect(self.config, self._wake.set, self._wake.set)
            async with asyncio.timeout(self.config.connect_timeout) as self._connecting:
                if self._closing.is_set():
                    return
                await connection.open()
                await self._list(connection)
            self._connecting = None
            self.connects += 1
            self._connection = connection
            self._known.set()
            logger.bind(server=self.name, tools=len(self._tools)).info("MCP server connected")
            await self._follow(connection)
            self._down("the connection ended")
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            self._down("the connection ended")  # the SDK's own tasks were cancelled, not this one
        except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - a server is anybody's code
            self._down(_reason(error, self.config, connection))
        finally:
            self._connecting = None
            self._connection = None
            self._offer(())
            self._known.set()
            if connection is not None:
                await self._end(connection)

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
                    continue  # some servers do one thing at a time
            self._wake.clear()
            if self._closing.is_set() or connection.lost.done():
                return
            async with asyncio.timeout(self.config.connect_timeout) as self._connecting:
                await self._list(connection)
            self._connecting = None
            await asyncio.sleep(LISTINGS_APART)

    async def _list(self, connection: McpConnection) -> None:
        tools, faults = to_definitions(await connection.list_tools(), self.config, self)
        if faults != self.faults:
            self.faults = faults
            for fault in faults:
                logger.bind(place=fault.place, reason=fault.reason).warning("tools left out")
        self._offer(tools)

    def _offer(self, tools: tuple[ToolDefinition, ...]) -> None:
        if tools != self._tools:
            self._tools = tools
            self.changed()

    def _down(self, reason: str) -> None:
        """Note that there is no connection; told once, until there is one again."""
        if self._closing.is_set():
            return
        was_up = self._connection is not None or not self._known.is_set()
        log = logger.bind(server=self.name, reason=reason)
        (log.warning if was_up else log.debug)("MCP server not connected")
        self.faults = [Fault(self.config.place, reason)]

    async def _end(self, connection: McpConnection) -> None:
        try:
            await connection.close()
        except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - it is given up anyway
            logger.bind(server=self.name, error=type(error).__name__).debug(
                "MCP connection did not close well"
            )


def _load() -> type[McpConnection]:
    with SDK_IMPORT:
        from vixio.tools.mcp.connection import McpConnection

    return McpConnection


def _reason(error: BaseException, config: McpServerConfig, connection: McpConnection | None) -> str:
    if connection is None:  # the SDK itself is not there
        return f"{type(error).__name__}: {error}"
    from vixio.tools.mcp.connection import explain_failure

    return explain_failure(error, config, connection)

"""A tool server that has connected to this process: one connection, from its first word to its end.

It is not trusted: its list, its answers, its pending calls are bounded, and whatever it does costs
its own tools.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from vixio.core.errors import ToolError
from vixio.core.imports import sdk_import
from vixio.core.tools.context import ToolContext
from vixio.core.tools.source import Fault, scoped_name
from vixio.core.tools.types import JsonObject, ToolCallResult, ToolDefinition
from vixio.tools.mcp.config import McpServerConfig
from vixio.tools.mcp.source import McpSource
from vixio.web.access.link import AccessLink

if TYPE_CHECKING:
    from mcp.client import Transport

    from vixio.tools.mcp.connection import McpConnection

MAX_TOOLS: Final = 64
MAX_LIST_CHARS: Final = 100_000
"""Of the tools of a server, as JSON: each request to the model has them, and they travel between
processes."""

MAX_CALLS: Final = 16
"""Pending ones of a server."""

HANDSHAKE_S: Final = 30.0
"""Many servers are programs that start when they are connected."""

CALL_S: Final = 20.0
REFRESH_S: Final = 60.0

_UNFIT = re.compile(r"[^\w.-]+")

_log = logging.getLogger(__name__)


class AccessServer(McpSource):
    """``up`` is called when its tools are known, ``over`` at its end, once it was up or not."""

    def __init__(
        self,
        link: AccessLink,
        up: Callable[[AccessServer], None],
        over: Callable[[AccessServer], None],
    ) -> None:
        config = McpServerConfig(
            "server",
            "websocket",
            connect_timeout=HANDSHAKE_S,
            timeout=CALL_S,
            refresh=REFRESH_S,
            retries=0,
            place="access point",
        )
        super().__init__(config, link.scope)
        self.id = uuid4().hex
        self.link = link
        self.stated_name = ""
        self.reason = ""
        """Why it ended."""
        self.version = 0
        """Of its list of tools."""
        self._up = up
        self._over = over
        self._pending = 0

    async def call_tool(
        self,
        tool_name: str,
        arguments: JsonObject,
        *,
        timeout: float | None = None,
        context: ToolContext | None = None,
    ) -> ToolCallResult:
        """Call a tool of the server; see :class:`~vixio.core.tools.types.ToolCaller`."""
        if self._pending >= MAX_CALLS:
            error = ToolError("busy", "its server has too many calls to answer", retryable=True)
            return ToolCallResult.failure(error)
        self._pending += 1
        try:
            return await super().call_tool(tool_name, arguments, timeout=timeout, context=context)
        finally:
            self._pending -= 1

    def named(self, name: str) -> None:
        """Give it the name under which it is offered."""
        self.name = scoped_name(name, self.scope)
        self.config = replace(self.config, name=self.name)

    async def ended(self) -> None:
        """Wait for the end of the connection, once it was started."""
        if self._task is not None:
            await asyncio.wait((self._task,))

    async def _run(self) -> None:
        try:
            await self._once()
        finally:
            self._over(self)
            self.link.end(1000, self.reason)

    async def _connect(self) -> McpConnection:
        kind, streams = await asyncio.to_thread(_load)
        return kind(
            self.config,
            self._wake.set,
            self._wake.set,
            streams=partial(streams, self.link),
            mode="legacy",
        )

    async def _follow(self, connection: McpConnection) -> None:
        words = connection.server_name[:40]
        self.stated_name = _UNFIT.sub("-", words).strip("-.") or "server"
        self._up(self)
        await super()._follow(connection)

    def _offer(self, tools: tuple[ToolDefinition, ...]) -> None:
        kept: list[ToolDefinition] = []
        room = MAX_LIST_CHARS
        for tool in tools[:MAX_TOOLS]:
            written = json.dumps(dict(tool.parameters), ensure_ascii=False)
            room -= len(tool.name) + len(tool.description) + len(written)
            if room < 0:
                break
            kept.append(tool)
        if left_out := len(tools) - len(kept):
            words = f"{left_out} tools are too many: {MAX_TOOLS}, of {MAX_LIST_CHARS} characters"
            self.faults.append(Fault(self.config.place, words))
        if tuple(kept) != self._tools:
            self.version += 1
        super()._offer(tuple(kept))

    def _down(self, reason: str) -> None:
        self.reason = self.link.ending or reason


def _load() -> tuple[type[McpConnection], Callable[..., Transport]]:
    with sdk_import():
        from vixio.web.access.streams import McpConnection, streams_over

    return McpConnection, streams_over

"""Brings a device's tools to its session: lists them beside the conversation, reports each list.

The client of the device's tool server is :mod:`vixio.transports.xiaozhi.device_tools`; the set of a
session's tools is :mod:`vixio.core.tools.toolset`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from typing import Any

from vixio.core.metrics import Counters
from vixio.core.tools.types import JsonObject, ToolDefinition
from vixio.core.transport import DeviceToolsCallback
from vixio.transports.xiaozhi.device_tools import (
    MAX_PENDING_CALLS,
    SendCallback,
    XiaozhiDeviceToolClient,
)
from vixio.transports.xiaozhi.settings import XiaozhiSettings

_log = logging.getLogger(__name__)


class ToolFeed:
    """The tools of one connection. Everything it starts ends with :meth:`close`.

    Until the device has listed its tools, the list of its last connection stands in for them; if it
    fails to list them, it has none. ``vision`` (``{"url", "token"}``) is passed to the device's
    camera.
    """

    def __init__(
        self,
        session_id: str,
        device_id: str,
        send: SendCallback,
        settings: XiaozhiSettings,
        vision: JsonObject | None = None,
        *,
        counters: Counters | None = None,
        max_pending_calls: int = MAX_PENDING_CALLS,
    ) -> None:
        self._device_id = device_id
        self._remembered = settings.remembered_tools
        self.client = XiaozhiDeviceToolClient(
            session_id,
            send,
            settings.timeouts.device_tool,
            initialize_timeout=settings.tool_initialize_timeout,
            vision=vision,
            on_tools_changed=self._listed,
            counters=counters,
            max_pending_calls=max_pending_calls,
        )
        self._known: list[ToolDefinition] | None = None
        self._callbacks: list[DeviceToolsCallback] = []
        self._delivering = asyncio.Lock()  # one list at a time, in their order
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        self._context = copy_context()
        """Of the session, for its log: messages may be taken in a callback of the socket."""

    def start(self) -> None:
        """Greet the device's tool server and list its tools, beside everything else."""
        earlier = self._remembered.recall(self._device_id, self.client)
        if earlier:
            self._publish(earlier)
        self._spawn(self._initialize)

    def add_callback(self, callback: DeviceToolsCallback) -> None:
        """Call ``callback`` with every list from now on, and soon with the one known already."""
        self._callbacks.append(callback)
        if self._known is not None:
            self._spawn(self._deliver)

    def take(self, payload: JsonObject) -> None:
        """Take a JSON-RPC frame of the device."""
        self._context.run(self.client.on_mcp_message, payload)

    def close(self) -> None:
        """Fail what is pending, at once. Idempotent."""
        self._closed = True
        self.client.cancel_all()
        for task in self._tasks:
            task.cancel()

    async def _initialize(self) -> None:
        if await self.client.initialize():
            self._listed(self.client.get_tool_definitions())
        else:
            self._publish([])

    def _listed(self, tools: list[ToolDefinition]) -> None:
        _log.info("device listed its tools", extra={"tool_count": len(tools)})
        self._remembered.keep(self._device_id, tools)
        self._publish(tools)

    def _publish(self, tools: list[ToolDefinition]) -> None:
        self._known = tools
        if self._callbacks:
            self._spawn(self._deliver)

    async def _deliver(self) -> None:
        async with self._delivering:
            for callback in self._callbacks:
                await self._call(callback, self._known or [])

    async def _call(self, callback: DeviceToolsCallback, tools: list[ToolDefinition]) -> None:
        try:
            await callback(tools)
        except Exception as error:  # noqa: BLE001 - a defect of the session must not end its tools
            _log.error(
                "session failed to take the device's tools",
                extra={"error": type(error).__name__},
            )

    def _spawn(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self._closed:
            return
        task = asyncio.create_task(work())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

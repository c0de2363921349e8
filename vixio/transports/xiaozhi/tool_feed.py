"""Brings a device's tools to its session: runs the client beside the conversation, tells the list.

It is neither the client (that is :mod:`device_tools`) nor the set of a session's tools.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from loguru import logger

from vixio.core.tools.types import JsonObject, ToolDefinition
from vixio.core.transport import DeviceToolsCallback
from vixio.transports.xiaozhi.device_tools import SendCallback, XiaozhiDeviceToolClient
from vixio.transports.xiaozhi.settings import XiaozhiSettings


class ToolFeed:
    """The tools of one connection. Everything it starts ends with :meth:`close`.

    ``vision`` (``{"url", "token"}``) is what the device's camera is told.
    """

    def __init__(
        self,
        session_id: str,
        send: SendCallback,
        settings: XiaozhiSettings,
        vision: JsonObject | None = None,
    ) -> None:
        self._log = logger.bind(session_id=session_id)
        self.client = XiaozhiDeviceToolClient(
            session_id,
            send,
            settings.tool_timeout,
            initialize_timeout=settings.tool_initialize_timeout,
            vision=vision,
            on_tools_changed=self._publish,
            counters=settings.counters,
            max_pending_calls=settings.limits.pending_tool_calls,
        )
        self._known: list[ToolDefinition] | None = None
        self._callbacks: list[DeviceToolsCallback] = []
        self._delivering = asyncio.Lock()  # one list at a time, in their order
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    def start(self) -> None:
        """Greet the device's tool server and list its tools, beside everything else."""
        self._spawn(self._initialize)

    def add_callback(self, callback: DeviceToolsCallback) -> None:
        """Have ``callback`` told every list from now on, and soon the one known already."""
        self._callbacks.append(callback)
        if self._known is not None:
            self._spawn(self._deliver)

    def take(self, payload: JsonObject) -> None:
        """Take a JSON-RPC frame of the device."""
        self.client.on_mcp_message(payload)

    def close(self) -> None:
        """Fail what is pending, at once. Idempotent."""
        self._closed = True
        self.client.cancel_all()
        for task in self._tasks:
            task.cancel()

    async def _initialize(self) -> None:
        if await self.client.initialize():
            self._publish(self.client.get_tool_definitions())

    def _publish(self, tools: list[ToolDefinition]) -> None:
        self._known = tools
        self._log.bind(tools=len(tools)).info("the device's tools are known")
        if self._callbacks:
            self._spawn(self._deliver)

    async def _deliver(self) -> None:
        async with self._delivering:
            for callback in self._callbacks:
                await self._tell(callback, self._known or [])

    async def _tell(self, callback: DeviceToolsCallback, tools: list[ToolDefinition]) -> None:
        try:
            await callback(tools)
        except Exception as error:  # noqa: BLE001  the session's code: its mistake ends no call
            self._log.bind(error=type(error).__name__).error("taking the tools failed")

    def _spawn(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self._closed:
            return
        task = asyncio.create_task(work())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

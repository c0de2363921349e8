"""The client of a device's MCP server: JSON-RPC 2.0 inside the socket's ``mcp`` messages.

It does no I/O of its own: incoming frames are passed to
:meth:`XiaozhiDeviceToolClient.on_mcp_message`, outgoing ones to a callback. It never waits in the
task that reads the socket, and knows no agent framework.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Final

from vixio import __version__
from vixio.core.clock import now
from vixio.core.errors import ConnectionClosed, ToolError
from vixio.core.metrics import Counters
from vixio.core.tools.context import ToolContext
from vixio.core.tools.device import DeviceToolClientBase
from vixio.core.tools.types import JsonObject, ToolCallResult, ToolDefinition, ToolOptions
from vixio.core.waiters import Waiters
from vixio.transports.xiaozhi.mcp_content import parse_answer, parse_error, parse_page

_log = logging.getLogger(__name__)

PROTOCOL_VERSION = "2024-11-05"  # the one the firmware states (mcp_server.cc, ParseMessage)

MAX_PAGES = 64
MAX_TOOLS = 256
MAX_LIST_BYTES = 512 * 1024
"""Bounds of one listing; the excess is dropped, so that no device can fill the server's memory. A
page of the firmware has at most 8,000 bytes (GetToolsList), a board some dozens of tools."""

MAX_ID = 2**31 - 1
"""The firmware reads ids as C ints (mcp_server.cc, ParseMessage: ``id->valueint``)."""

RELIST_PAUSE_S = 0.25
"""Between two listings after ``list_changed``: a device that announces a change with every answer
costs four listings a second, not an endless loop."""

MAX_PENDING_CALLS = 32
"""Calls pending at a time. The firmware runs them one after another, so the last of so many would
be answered far too late; a model that asks for more is in a loop."""

ENDING: Final = frozenset(
    {"self.reboot", "self.upgrade_firmware", "self.AEC.set_mode", "self.system.set_aec"}
)
"""Tools behind which the firmware closes the connection, which may be before it has answered
(application.cc, Reboot, UpgradeFirmware, SetAecMode)."""

SendCallback = Callable[[JsonObject], Awaitable[None]]
ToolsChanged = Callable[[list[ToolDefinition]], None]


class XiaozhiDeviceToolClient(DeviceToolClientBase):
    """The tools of one connected device.

    ``send_callback`` sends a message of the protocol; it raises ConnectionClosed when the device is
    gone. ``timeout`` and ``initialize_timeout`` are seconds for one call and for one step of the
    greeting. ``vision`` (``{"url", "token"}``) is where a camera posts its photos.
    ``on_tools_changed`` is called with the whole list whenever it was listed again.
    """

    def __init__(
        self,
        session_id: str,
        send_callback: SendCallback,
        timeout: float = 30.0,
        *,
        initialize_timeout: float = 10.0,
        vision: JsonObject | None = None,
        on_tools_changed: ToolsChanged | None = None,
        counters: Counters | None = None,
        max_pending_calls: int = MAX_PENDING_CALLS,
    ) -> None:
        self.session_id = session_id
        self._send = send_callback
        self._timeout = timeout
        self._options = ToolOptions(timeout=timeout)  # what agents go by
        self._initialize_timeout = initialize_timeout
        self._vision = vision
        self._on_tools_changed = on_tools_changed
        self._counters = counters if counters is not None else Counters()
        self._tools: dict[str, ToolDefinition] = {}
        self._user_tools: dict[str, ToolDefinition] = {}
        """Those of the last :meth:`list_user_tools`."""
        self._pending: dict[int, asyncio.Future[JsonObject]] = {}
        self._last_id = 0
        self._max_pending_calls = max_pending_calls
        self._closed = False
        self._initialized = False
        self._initializing = False
        """Whether the first list is on its way: not yet there, nor known not to come."""
        self._first_list = Waiters()
        self._relist_wanted = False
        self._relisting: asyncio.Task[None] | None = None

    async def initialize(self) -> bool:
        """Greet the device's tool server and list its tools; false if that fails or times out."""
        self._initializing = True
        try:
            return await self._initialize()
        finally:
            self._end_initializing()

    async def _initialize(self) -> bool:
        capabilities: JsonObject = {}
        if self._vision is not None:
            capabilities["vision"] = self._vision
        try:
            await self._request(
                "initialize",
                {
                    "protocolVersion": PROTOCOL_VERSION,
                    "capabilities": capabilities,
                    "clientInfo": {"name": "Vixio", "version": __version__},
                },
                self._initialize_timeout,
            )
            await self._notify("notifications/initialized")
            self._relist_wanted = False
            self._tools = await self._list_tools()
        except ToolError as error:
            self._counters.add("xiaozhi.mcp.initialize_failed")
            self._warn("device failed to list its tools", error_type=error.type)
            return False
        self._initialized = True
        self._start_relisting()  # the device may have announced a change meanwhile
        return True

    async def call_tool(
        self,
        tool_name: str,
        arguments: JsonObject,
        *,
        timeout: float | None = None,
        context: ToolContext | None = None,
    ) -> ToolCallResult:
        """Call a tool and wait for its answer; only cancellation is raised.

        A call made before the device has listed its tools waits for the list first. One of
        :data:`ENDING` has done its work if the connection ends instead of an answer.
        """
        call_id = self._new_id()
        seconds = self._timeout if timeout is None else timeout
        try:
            seconds -= await self._listed(min(seconds, self._initialize_timeout))
            known = tool_name in self._tools or tool_name in self._user_tools
            if not known and not self._closed:
                raise ToolError("not_found", f"the device has no tool {tool_name!r}")
            if 0 < self._max_pending_calls <= len(self._pending):
                self._counters.add("xiaozhi.limited.tool_calls")
                raise ToolError("failed", "too many calls wait for the device", retryable=True)
            result = await self._request(
                "tools/call",
                {"name": tool_name, "arguments": arguments},
                seconds,
                call_id,
            )
            answer = parse_answer(result)
            if answer.is_error:
                raise ToolError("failed", answer.text or "the tool failed")
        except ToolError as error:
            if isinstance(error, _EndedMeanwhile) and tool_name in ENDING:
                return ToolCallResult(str(call_id), success=True, result="the connection ended")
            self._counters.add(f"xiaozhi.mcp.call.{error.type}")
            return ToolCallResult(
                str(call_id),
                success=False,
                error=str(error),
                error_type=error.type,
                retryable=error.retryable,
            )
        return ToolCallResult(str(call_id), success=True, result=answer.text, images=answer.images)

    def get_tool_definitions(self) -> list[ToolDefinition]:
        """Return the device's tools that the model may use, in the device's order."""
        return list(self._tools.values())

    async def list_tools(self) -> list[ToolDefinition]:
        """Return the same once the first list is there, or known not to come."""
        await self._listed(self._initialize_timeout)
        return self.get_tool_definitions()

    async def list_user_tools(self) -> list[ToolDefinition]:
        """List what the model does not see: reboot, … (mcp_server.cc, AddUserOnlyTools)."""
        await self._listed(self._initialize_timeout)
        self._user_tools = await self._list_tools(user=True)
        return list(self._user_tools.values())

    def cancel_all(self) -> None:
        """Fail every pending call at once, and every later one: the device is gone."""
        self._closed = True
        self._end_initializing()
        if self._relisting is not None:
            self._relisting.cancel()
        for future in self._pending.values():
            if not future.done():
                future.set_exception(_EndedMeanwhile(*_DISCONNECTED, retryable=True))
                future.exception()  # retrieved: the caller may be cancelled before it can

    def on_mcp_message(self, payload: JsonObject) -> None:
        """Take a JSON-RPC frame of the device; never raises.

        Answers to no pending request (late, of unknown id, duplicate) are dropped and counted.
        """
        method = payload.get("method")
        if isinstance(method, str):
            if method == "notifications/tools/list_changed":
                self._relist_wanted = True
                self._start_relisting()
            elif "id" in payload:
                # The firmware makes no requests, and a tool server needs no answers.
                self._counters.add("xiaozhi.mcp.ignored_request")
            return
        if "result" not in payload and "error" not in payload:
            self._counters.add("xiaozhi.mcp.malformed")
            return
        id_ = payload.get("id")
        if isinstance(id_, float) and id_.is_integer():
            id_ = int(id_)  # clients that store every number as a float answer 3.0
        # type(): true is an int too, and would match request 1.
        future = self._pending.get(id_) if type(id_) is int else None
        if future is None or future.done():
            self._counters.add("xiaozhi.mcp.late_answer")
            return
        future.set_result(payload)

    async def _listed(self, seconds: float) -> float:
        """Wait for the first list; return the seconds it took. Raises ToolError."""
        began = now()
        try:
            async with asyncio.timeout(seconds):
                while self._initializing:
                    await self._first_list.wait()
        except TimeoutError:
            raise ToolError(
                "timeout", f"the device did not list its tools within {seconds:g} s", retryable=True
            ) from None
        return now() - began

    def _end_initializing(self) -> None:
        self._initializing = False
        self._first_list.wake()

    def _new_id(self) -> int:
        """Return an id that no pending request has."""
        self._last_id = self._last_id % MAX_ID + 1
        while self._last_id in self._pending:
            self._last_id = self._last_id % MAX_ID + 1
        return self._last_id

    async def _request(
        self, method: str, params: JsonObject, timeout: float, id_: int | None = None
    ) -> Any:  # noqa: ANN401  any JSON value
        """Return the result of a request. Raises ToolError; ``timeout`` includes the sending."""
        if self._closed:
            raise _disconnected()
        number = self._new_id() if id_ is None else id_
        future: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        self._pending[number] = future
        try:
            async with asyncio.timeout(timeout):
                await self._send_payload({"id": number, "method": method, "params": params})
                answer = await future
        except TimeoutError:
            raise ToolError(
                "timeout", f"the device did not answer within {timeout:g} s", retryable=True
            ) from None
        finally:
            # A late answer finds no entry and is dropped.
            del self._pending[number]
        if "error" in answer:
            raise parse_error(answer["error"])
        return answer["result"]

    async def _notify(self, method: str) -> None:
        try:
            async with asyncio.timeout(self._initialize_timeout):
                await self._send_payload({"method": method})
        except TimeoutError:
            raise ToolError("timeout", "the device takes no messages", retryable=True) from None

    async def _send_payload(self, payload: JsonObject) -> None:
        try:
            await self._send({"type": "mcp", "payload": {"jsonrpc": "2.0", **payload}})
        except ConnectionClosed:
            raise _disconnected() from None
        except (ValueError, TypeError, RecursionError) as error:
            # NaN, a set, a cycle: the fault of the model's arguments.
            raise ToolError("invalid_arguments", f"the arguments are not JSON: {error}") from None

    async def _list_tools(self, *, user: bool = False) -> dict[str, ToolDefinition]:
        """Follow ``nextCursor`` to the end. Raises ToolError if the first page does not come."""
        tools: dict[str, ToolDefinition] = {}
        cursor = ""
        seen = {cursor}
        size = 0
        for number in range(1, MAX_PAGES + 1):
            params: JsonObject = {"cursor": cursor, "withUserTools": user}
            try:
                result = await self._request("tools/list", params, self._initialize_timeout)
                page = parse_page(result, self, user=user)
                if page is None:
                    raise ToolError("failed", "the device's list of tools is malformed")
            except ToolError as error:
                if number == 1 or error.type == "disconnected":
                    raise
                # The firmware refuses a page whose first tool is too large (GetToolsList); the
                # pages before it are usable.
                self._cut("page_failed", len(tools))
                break
            size += len(json.dumps(result))
            if size > MAX_LIST_BYTES:
                self._cut("too_many_bytes", len(tools))
                break
            if page.skipped:
                self._counters.add("xiaozhi.mcp.malformed_tool", page.skipped)
                # One line for all: a device may list the same ones at each connection.
                left_out = "; ".join(f"{name}: {reason}" for name, reason in page.mistakes[:5])
                self._warn("device's tools left out", count=page.skipped, tools=left_out)
            for tool in page.tools:
                tools.setdefault(tool.name, replace(tool, options=self._options))
            if len(tools) > MAX_TOOLS:
                self._cut("too_many_tools", MAX_TOOLS)
                return dict(list(tools.items())[:MAX_TOOLS])
            cursor = page.cursor
            if not cursor:
                break
            if cursor in seen:
                self._cut("repeated_cursor", len(tools))
                break
            seen.add(cursor)
        else:
            self._cut("too_many_pages", len(tools))
        return tools

    def _cut(self, reason: str, kept: int) -> None:
        self._counters.add(f"xiaozhi.mcp.list_cut.{reason}")
        self._warn("device's list of tools cut", reason=reason, kept=kept)

    def _warn(self, message: str, **fields: object) -> None:
        _log.warning(message, extra=fields)

    def _start_relisting(self) -> None:
        """List again if the device has announced a change; never two listings at once."""
        if not self._relist_wanted or not self._initialized or self._closed:
            return
        if self._relisting is None or self._relisting.done():
            self._relisting = asyncio.create_task(self._relist())

    async def _relist(self) -> None:
        while self._relist_wanted:
            self._relist_wanted = False
            try:
                self._tools = await self._list_tools()
            except ToolError as error:
                # The tools known so far stay: a call that fails is more useful than no tool.
                self._counters.add("xiaozhi.mcp.relist_failed")
                self._warn("device failed to list its tools again", error_type=error.type)
            else:
                if self._on_tools_changed is not None:
                    self._on_tools_changed(self.get_tool_definitions())
            await asyncio.sleep(RELIST_PAUSE_S)


_DISCONNECTED: Final = ("disconnected", "the device is no longer connected")


class _EndedMeanwhile(ToolError):
    """The connection ended behind the call, and before its answer."""


def _disconnected() -> ToolError:
    return ToolError(*_DISCONNECTED, retryable=True)

"""The device's MCP server: JSON-RPC in, raw JSON texts out, as in main/mcp_server.cc.

Answers are assembled as text, and error messages are NOT escaped, because the firmware does not
escape them: a quotation mark in an unknown tool's name makes an answer invalid JSON.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

from firmware_test_client.main_task import Slow, Work
from firmware_test_client.mcp.properties import PropertyError, value_as_int
from firmware_test_client.mcp.tool import NO_ANSWER, Tool, ToolResult, dumps, result_json

MAX_PAGE_BYTES: Final = 8000  # McpServer::GetToolsList, max_payload_size
_PAGE_RESERVE: Final = 30  # bytes kept for the end of the page, same place

Answer = Callable[[int, str, str], None]
"""Takes id, the name of the method or tool, and `"result":…` or `"error":…`."""
Schedule = Callable[[Work], None]


@dataclass(slots=True)
class ToolCallRecord:
    """One tools/call that reached a tool."""

    id: int
    name: str
    arguments: dict[str, object]
    time: float  # monotonic seconds
    answered: float | None = None  # monotonic seconds
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Vision:
    """Where a photo is sent (capabilities.vision of `initialize`)."""

    url: str
    token: str = ""


@dataclass(slots=True)
class McpServer:
    """Tools and the methods on them.

    Args:
        name, version: serverInfo.
        answer: sends an answer (on the main task).
        schedule: runs work on the main task, one after another (Application::Schedule).
        clock: monotonic seconds.
    """

    name: str
    version: str
    answer: Answer
    schedule: Schedule
    clock: Callable[[], float]
    tools: list[Tool] = field(default_factory=list)
    calls: list[ToolCallRecord] = field(default_factory=list)
    vision: Vision | None = None
    initialized: int = 0  # how often `initialize` came
    notifications: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)  # messages that the firmware drops silently

    def add(self, tool: Tool) -> None:
        """Append a tool; one of the same name stays as it is (McpServer::AddTool)."""
        if all(known.name != tool.name for known in self.tools):
            self.tools.append(tool)

    def remove(self, name: str) -> None:
        """Remove a tool; KeyError if there is none of that name."""
        for tool in self.tools:
            if tool.name == name:
                self.tools.remove(tool)
                return
        raise KeyError(name)

    def on_message(self, payload: dict[str, Any]) -> None:
        """Take a JSON-RPC message (McpServer::ParseMessage). Malformed ones are dropped."""
        method, params, number = payload.get("method"), payload.get("params"), payload.get("id")
        if payload.get("jsonrpc") != "2.0" or not isinstance(method, str):
            self.refused.append(f"no JSON-RPC 2.0 request: {dumps(payload)[:200]}")
            return
        if method.startswith("notifications"):
            self.notifications.append(method)
            return
        if params is not None and not isinstance(params, dict):
            self.refused.append(f"{method}: params is no object")
            return
        if isinstance(number, bool) or not isinstance(number, int | float):
            self.refused.append(f"{method}: id {number!r} is no number")
            return
        self._dispatch(value_as_int(number), method, params)

    def _dispatch(self, number: int, method: str, params: dict[str, Any] | None) -> None:
        if method == "initialize":
            self._initialize(number, params or {})
        elif method == "tools/list":
            self._list(number, params or {})
        elif method == "tools/call":
            self._call(number, params)
        else:
            self._error(number, method, f"Method not implemented: {method}")

    def _initialize(self, number: int, params: dict[str, Any]) -> None:
        self.initialized += 1
        capabilities = params.get("capabilities")
        vision = capabilities.get("vision") if isinstance(capabilities, dict) else None
        if isinstance(vision, dict) and isinstance(vision.get("url"), str):
            token = vision.get("token")
            self.vision = Vision(vision["url"], token if isinstance(token, str) else "")
        result = {
            "protocolVersion": "2024-11-05",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": self.name, "version": self.version},
        }
        self._reply(number, "initialize", f'"result":{dumps(result)}')

    def _list(self, number: int, params: dict[str, Any]) -> None:
        cursor = params.get("cursor")
        page, next_cursor = self.page(
            cursor if isinstance(cursor, str) else "", params.get("withUserTools") is True
        )
        if page is None:
            text = f"Failed to add tool {next_cursor} because of payload size limit"
            self._error(number, "tools/list", text)
            return
        tail = "]}" if not next_cursor else f'],"nextCursor":"{next_cursor}"}}'
        self._reply(number, "tools/list", f'"result":{{"tools":[{",".join(page)}{tail}')

    def page(self, cursor: str, with_user_tools: bool) -> tuple[list[str] | None, str]:
        """One page and the next cursor ("" at the end). No page where the firmware fails: for a
        tool that is too long for a page, and for an unknown cursor (GetToolsList).
        """
        size, found = len('{"tools":['), not cursor
        page: list[str] = []
        next_cursor = ""
        for tool in self.tools:
            found = found or tool.name == cursor
            if not found or (tool.user_only and not with_user_tools):
                continue
            text = dumps(tool.to_json())
            length = len(text.encode()) + 1
            if size + length + _PAGE_RESERVE > MAX_PAGE_BYTES:
                next_cursor = tool.name
                break
            size += length
            page.append(text)
        if not page and self.tools:
            return None, next_cursor
        return page, next_cursor

    def _call(self, number: int, params: dict[str, Any] | None) -> None:
        if params is None:
            self._error(number, "tools/call", "Missing params")
            return
        name, arguments = params.get("name"), params.get("arguments")
        if not isinstance(name, str):
            self._error(number, "tools/call", "Missing name")
        elif arguments is not None and not isinstance(arguments, dict):
            self._error(number, "tools/call", "Invalid arguments")
        else:
            self._do_call(number, name, arguments or {})

    def _do_call(self, number: int, name: str, arguments: dict[str, object]) -> None:
        tool = next((tool for tool in self.tools if tool.name == name), None)
        if tool is None:
            self._error(number, name, f"Unknown tool: {name}")
            return
        try:
            bound = tool.bind(arguments)
        except PropertyError as error:
            bound = str(error)
        if isinstance(bound, str):
            self._error(number, name, bound)
            return
        record = ToolCallRecord(number, name, bound, self.clock())
        self.calls.append(record)
        self.schedule(lambda: self._run(record, tool))

    def _run(self, record: ToolCallRecord, tool: Tool) -> Slow | None:
        try:
            result = tool.callback(**record.arguments)
        except Exception as error:  # noqa: BLE001  DoToolCall answers whatever the tool throws
            self._fail(record, error)
            return None
        if inspect.isawaitable(result):
            return self._finish_later(record, result)
        self._finish(record, result)
        return None

    async def _finish_later(self, record: ToolCallRecord, pending: Awaitable[ToolResult]) -> None:
        try:
            result = await pending
        except Exception as error:  # noqa: BLE001  DoToolCall answers whatever the tool throws
            self._fail(record, error)
        else:
            self._finish(record, result)

    def _finish(self, record: ToolCallRecord, result: ToolResult) -> None:
        if result is NO_ANSWER:
            return
        record.answered = self.clock()
        self.answer(record.id, record.name, f'"result":{result_json(result)}')

    def _fail(self, record: ToolCallRecord, error: Exception) -> None:
        record.answered, record.error = self.clock(), str(error)
        self.answer(record.id, record.name, f'"error":{{"message":"{error}"}}')

    def _reply(self, number: int, what: str, body: str) -> None:
        self.schedule(lambda: self.answer(number, what, body))

    def _error(self, number: int, what: str, message: str) -> None:
        """McpServer::ReplyError: no code, the message as it is."""
        self._reply(number, what, f'"error":{{"message":"{message}"}}')

"""A device's tool server in memory that answers as the test says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from tests.unit.transports.xiaozhi.support import BOUND_S
from vixio.core.errors import ConnectionClosed
from vixio.core.metrics import Counters
from vixio.core.tools.types import JsonObject, ToolDefinition
from vixio.transports.xiaozhi.device_tools import XiaozhiDeviceToolClient

Answer = JsonObject | None


def tool(name: str, **more: object) -> JsonObject:
    return {"name": name, "description": name, "inputSchema": {"type": "object"}, **more}


class Peer:
    """A device's tool server. ``pages`` by cursor; ``call`` answers calls; all can be withheld."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401  the client's own types
        self.pages: dict[str, Answer] = {"": {"result": {"tools": [tool("lamp"), tool("fan")]}}}
        self.initialize: Answer = {"result": {"protocolVersion": "2024-11-05"}}
        self.call: Callable[[JsonObject], Answer] = lambda params: {
            "result": {"content": [{"type": "text", "text": params["name"]}], "isError": False}
        }
        self.requests: list[JsonObject] = []
        self.changes: list[list[str]] = []
        self.greeting: asyncio.Task[bool]
        """Set by a test that greets beside something else."""
        self.gone = False
        self.stuck = asyncio.Event()
        self.stuck.set()
        self.counters = Counters()
        self.client = XiaozhiDeviceToolClient(
            "session",
            self.receive,
            on_tools_changed=self._changed,
            counters=self.counters,
            **{"timeout": BOUND_S, "initialize_timeout": BOUND_S, **settings},
        )

    def _changed(self, tools: list[ToolDefinition]) -> None:
        self.changes.append([tool.name for tool in tools])

    async def receive(self, message: JsonObject) -> None:
        if self.gone:
            raise ConnectionClosed("gone")
        await self.stuck.wait()
        assert message["type"] == "mcp"
        request = message["payload"]
        assert request["jsonrpc"] == "2.0"
        self.requests.append(request)
        method = request["method"]
        if "id" not in request:
            return
        assert type(request["id"]) is int  # the firmware drops any other
        assert isinstance(request["params"], dict)
        answer: Answer = None
        if method == "initialize":
            answer = self.initialize
        elif method == "tools/list":
            answer = self.pages.get(request["params"]["cursor"])
        elif method == "tools/call":
            answer = self.call(request["params"])
        if answer is not None:
            self.answer(request["id"], answer)

    def answer(self, id_: object, answer: JsonObject) -> None:
        self.client.on_mcp_message({"jsonrpc": "2.0", "id": id_, **answer})

    def announce(self) -> None:
        self.client.on_mcp_message({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})

    def methods(self) -> list[str]:
        return [request["method"] for request in self.requests]

    def names(self) -> list[str]:
        return [tool.name for tool in self.client.get_tool_definitions()]


async def ready(**settings: Any) -> Peer:  # noqa: ANN401  the client's own types
    peer = Peer(**settings)
    assert await peer.client.initialize()
    return peer

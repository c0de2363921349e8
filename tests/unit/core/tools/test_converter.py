"""A definition is converted by the method for its kind of caller."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from vixio.core.tools.context import ToolContext
from vixio.core.tools.converter import ToolConverterBase
from vixio.core.tools.device import DeviceToolClientBase
from vixio.core.tools.function import FunctionCaller
from vixio.core.tools.local import get_time
from vixio.core.tools.types import JsonObject, ToolCaller, ToolCallResult, ToolDefinition


class Kinds(ToolConverterBase[str]):
    def convert_device_tool(self, tool_def: ToolDefinition) -> str:
        return f"device {tool_def.name}"

    def convert_local_tool(self, func: Callable[..., Awaitable[Any]] | ToolDefinition) -> str:
        assert isinstance(func, ToolDefinition)
        return f"local {func.name}"

    def convert_mcp_tool(self, tool_def: ToolDefinition) -> str:
        return f"mcp {tool_def.name}"


class Server:
    async def call_tool(
        self,
        tool_name: str,
        arguments: JsonObject,
        *,
        timeout: float | None = None,
        context: ToolContext | None = None,
    ) -> ToolCallResult:
        return ToolCallResult("", True, tool_name)


class Device(Server, DeviceToolClientBase):
    async def initialize(self) -> bool:
        return True

    def get_tool_definitions(self) -> list[ToolDefinition]:
        return []

    def cancel_all(self) -> None:
        pass


@pytest.mark.parametrize(
    ("caller", "kind"),
    [(Device(), "device"), (FunctionCaller(get_time), "local"), (Server(), "mcp")],
)
def test_by_the_kind_of_its_caller(caller: ToolCaller, kind: str) -> None:
    assert Kinds().convert(ToolDefinition("x", "", caller=caller)) == f"{kind} x"


def test_a_devices_list_keeps_its_order() -> None:
    tools = [ToolDefinition(name, "", caller=Device()) for name in "cab"]
    assert Kinds().convert_device_tools(tools) == ["device c", "device a", "device b"]

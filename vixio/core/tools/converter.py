"""The interface that converts tools to an agent framework's own. One for each framework."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Generic, TypeVar

from vixio.core.tools.device import DeviceToolClientBase
from vixio.core.tools.function import FunctionCaller
from vixio.core.tools.types import ToolDefinition

ToolT = TypeVar("ToolT")


class ToolConverterBase(ABC, Generic[ToolT]):
    """Converts by kind of source, since many frameworks have their own way for functions."""

    @abstractmethod
    def convert_device_tool(self, tool_def: ToolDefinition) -> ToolT:
        """Convert a tool that a device executes."""

    @abstractmethod
    def convert_local_tool(self, func: Callable[..., Awaitable[Any]] | ToolDefinition) -> ToolT:
        """Convert an async function with type hints and a docstring (or its definition)."""

    @abstractmethod
    def convert_mcp_tool(self, tool_def: ToolDefinition) -> ToolT:
        """Convert a tool that an MCP client or another remote caller executes."""

    def convert_device_tools(self, tool_defs: Iterable[ToolDefinition]) -> list[ToolT]:
        """Convert a device's list, in its order."""
        return [self.convert_device_tool(tool_def) for tool_def in tool_defs]

    def convert(self, tool_def: ToolDefinition) -> ToolT:
        """Convert a definition of any kind."""
        match tool_def.caller:
            case DeviceToolClientBase():
                return self.convert_device_tool(tool_def)
            case FunctionCaller():
                return self.convert_local_tool(tool_def)
        return self.convert_mcp_tool(tool_def)

"""The interface that turns tools into what one agent framework wants. One per agent provider."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Generic, TypeVar

from vixio.core.tools.types import ToolDefinition

ToolT = TypeVar("ToolT")


class ToolConverterBase(ABC, Generic[ToolT]):
    """Converts by kind of source, since frameworks treat local functions natively."""

    @abstractmethod
    def convert_device_tool(self, tool_def: ToolDefinition) -> ToolT:
        """Convert a tool that ``tool_def.device_client`` executes."""

    @abstractmethod
    def convert_local_tool(self, func: Callable[..., Awaitable[Any]] | ToolDefinition) -> ToolT:
        """Convert an async function with type hints and a docstring (or its definition)."""

    @abstractmethod
    def convert_mcp_tool(self, tool_def: ToolDefinition) -> ToolT:
        """Convert a tool that ``tool_def.mcp_client`` executes."""

    def convert_device_tools(self, tool_defs: Iterable[ToolDefinition]) -> list[ToolT]:
        """Convert a device's list, in its order."""
        return [self.convert_device_tool(tool_def) for tool_def in tool_defs]

    def convert(self, tool_def: ToolDefinition) -> ToolT:
        """Convert a definition of any kind."""
        if tool_def.device_client is not None:
            return self.convert_device_tool(tool_def)
        if tool_def.mcp_client is not None:
            return self.convert_mcp_tool(tool_def)
        return self.convert_local_tool(tool_def)

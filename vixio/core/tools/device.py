"""The interface of a device's tools; each transport implements its own."""

from __future__ import annotations

from abc import ABC, abstractmethod

from vixio.core.tools.types import JsonObject, ToolCallResult, ToolDefinition


class DeviceToolClientBase(ABC):
    """Client of the tools of one connected device. Knows no agent framework."""

    @abstractmethod
    async def initialize(self) -> bool:
        """Greet the device's tool server and fetch its list; false if it did not answer in time."""

    @abstractmethod
    async def call_tool(
        self, tool_name: str, arguments: JsonObject, *, timeout: float | None = None
    ) -> ToolCallResult:
        """Call a tool and wait for its answer; see :class:`~vixio.core.tools.types.ToolCaller`."""

    @abstractmethod
    def get_tool_definitions(self) -> list[ToolDefinition]:
        """Return the device's tools that the model may use, in the device's order."""

    @abstractmethod
    def cancel_all(self) -> None:
        """Fail every pending call at once: the device is gone."""

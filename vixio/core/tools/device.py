"""The interface to a device's tools; each transport implements it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from vixio.core.tools.types import JsonObject, ToolCallResult, ToolDefinition

if TYPE_CHECKING:
    from vixio.core.tools.context import ToolContext


class DeviceToolClientBase(ABC):
    """Client for the tools of one connected device. Independent of agent frameworks."""

    keeps_time = True
    """What :class:`~vixio.core.tools.types.ToolCaller` says of it."""

    @abstractmethod
    async def initialize(self) -> bool:
        """Initialize the device's tool server and fetch its list; false if it did not answer."""

    @abstractmethod
    async def call_tool(
        self,
        tool_name: str,
        arguments: JsonObject,
        *,
        timeout: float | None = None,
        context: ToolContext | None = None,
    ) -> ToolCallResult:
        """Call a tool and wait for its answer; see :class:`~vixio.core.tools.types.ToolCaller`."""

    @abstractmethod
    def get_tool_definitions(self) -> list[ToolDefinition]:
        """Return the device's tools that the model may use, in the device's order."""

    async def list_tools(self) -> list[ToolDefinition]:
        """Return the same once the device has listed them, which it does as it connects.

        Raises ToolError.
        """
        return self.get_tool_definitions()

    async def list_user_tools(self) -> list[ToolDefinition]:
        """Ask the device for the tools that its user may use and the model may not; none if it has
        none. :meth:`call_tool` takes them from then on. Raises ToolError.
        """
        return []

    @abstractmethod
    def cancel_all(self) -> None:
        """Fail all pending calls: the device has disconnected."""

"""The agent: reads what the user said, may call tools, writes the reply.

An :class:`AgentProvider` belongs to one session and is light. Heavy parts (HTTP pools, models,
framework imports) are shared through its :class:`AgentBackend`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from vixio.core.agent import AgentEvent, AgentRequest
from vixio.core.tools.types import ToolDefinition

__all__ = [
    "AgentBackend",
    "AgentEvent",
    "AgentProvider",
    "AgentRequest",
    "SystemPrompt",
]

SystemPrompt = str | Callable[[AgentRequest], str | Awaitable[str]]
"""The instructions: a text, or a function, async or not, that returns it for one turn and does not
raise."""


class AgentProvider(ABC):
    """The agent of one session."""

    name: str

    @abstractmethod
    async def initialize(
        self, tools: Sequence[Any | ToolDefinition] = (), system_prompt: SystemPrompt = ""
    ) -> None:
        """Set the permanent tools and the instructions. Must be quick."""

    @abstractmethod
    async def update_tools(self, tools: Sequence[Any | ToolDefinition]) -> None:
        """Replace the changing tools (such as the device's); those of ``initialize`` stay.

        Takes framework tools, or definitions, which the provider converts. Idempotent. A running
        turn sees the new list at its next model call.
        """

    @abstractmethod
    def reply(self, request: AgentRequest) -> AsyncIterator[AgentEvent]:
        """Stream the reply; closing the iterator stops model and tools at once.

        Tools are run by ``request.runner``; a tool that the provider runs in another way waits for
        ``request.committed`` first. Raises ProviderError. A failing tool does not raise: the model
        gets the error as the tool's result.
        """

    @abstractmethod
    async def close(self) -> None:
        """Release what this session holds."""


class AgentBackend(ABC):
    """The part of an agent that all sessions share."""

    name: str

    @abstractmethod
    async def start(self) -> None:
        """Import and connect the heavy parts, off the event loop. Idempotent."""

    @abstractmethod
    def create(self) -> AgentProvider:
        """Return the agent of a new session; light."""

    def stats(self) -> list[dict[str, Any]]:
        """Return the state of its models for a health page, one mapping each; none by default."""
        return []

    @abstractmethod
    async def close(self) -> None:
        """Close pools and workers."""

"""The agent: reads what the user said, may call tools, writes the reply.

An :class:`AgentProvider` belongs to one session and is light; what is heavy (HTTP pools, models,
framework imports) is shared through its :class:`AgentBackend`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from vixio.core.chunk import TextDelta, ToolCalled, ToolReturned
from vixio.core.history import HistoryItem
from vixio.core.metrics import ModelUse
from vixio.core.tools.runner import ToolRunner
from vixio.core.tools.types import ToolDefinition

AgentEvent = TextDelta | ToolCalled | ToolReturned


@dataclass(frozen=True, slots=True)
class AgentRequest:
    """One turn: what was said, and all that was said before (without this turn).

    ``runner`` runs the turn's tool calls; without one the provider runs them itself, and tools that
    need the user's yes are refused. ``note_model`` is told of each answer of a language model, as
    soon as it is complete. ``emotion``: how the user sounds, as ``happy``, where the recogniser
    tells it.
    """

    turn_id: int
    text: str
    history: Sequence[HistoryItem] = ()
    language: str = ""
    runner: ToolRunner | None = None
    device_id: str = ""
    note_model: Callable[[ModelUse], None] | None = None
    emotion: str = ""


SystemPrompt = str | Callable[[AgentRequest], str]
"""The instructions: words, or what gives them for one turn. Must be quick, and must not raise."""


class AgentProvider(ABC):
    """The agent of one session."""

    name: str

    @abstractmethod
    async def initialize(
        self, tools: Sequence[Any | ToolDefinition] = (), system_prompt: SystemPrompt = ""
    ) -> None:
        """Set the tools that are always there and the instructions. Must be quick."""

    @abstractmethod
    async def update_tools(self, tools: Sequence[Any | ToolDefinition]) -> None:
        """Replace the tools that come and go (the device's); those of ``initialize`` stay.

        Framework tools or definitions, which the provider converts itself. Idempotent. A running
        turn sees the new list at its next model call.
        """

    @abstractmethod
    def reply(self, request: AgentRequest) -> AsyncIterator[AgentEvent]:
        """Write the reply as it comes; closing the iterator stops model and tools at once.

        Raises ProviderError. A failing tool does not raise: the model is told.
        """

    @abstractmethod
    async def close(self) -> None:
        """End what this session holds."""


class AgentBackend(ABC):
    """What the agents of all sessions share."""

    name: str

    @abstractmethod
    async def start(self) -> None:
        """Import and connect what is heavy, off the event loop. Idempotent."""

    @abstractmethod
    def create(self) -> AgentProvider:
        """Return the agent of a new session; light."""

    def stats(self) -> list[dict[str, Any]]:
        """Return how its models are, one mapping each, for a health page; none by default."""
        return []

    @abstractmethod
    async def close(self) -> None:
        """End pools and workers."""

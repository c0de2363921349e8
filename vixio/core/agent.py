"""What the core needs of an agent: a request for one turn in, the events of the reply out.

The full provider interface, with set-up and shared backends, is :mod:`vixio.providers.agent`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from vixio.core.chunk import TextDelta, ToolCalled, ToolReturned
from vixio.core.history import HistoryItem
from vixio.core.metrics import ModelUse
from vixio.core.tools.runner import ToolRunner
from vixio.core.tools.types import ToolDefinition

AgentEvent = TextDelta | ToolCalled | ToolReturned


@dataclass(frozen=True, slots=True)
class AgentRequest:
    """One turn: the user's words, and the conversation before it (without this turn).

    ``language`` (BCP 47): of the user's words. ``voice``: what the voice speaks that the answer is
    for; empty if it is unknown.
    ``runner`` runs the turn's tool calls. Without one the provider runs them itself and refuses
    tools that need the user's consent. ``committed`` returns once the turn may have effects; a
    provider awaits it before it runs a tool that does not go through ``runner``. ``note_model`` is
    called with the usage of each complete model answer. ``emotion``: how the user sounds, for
    example ``happy``, if the recogniser reports it.
    """

    turn_id: int
    text: str
    history: Sequence[HistoryItem] = ()
    language: str = ""
    runner: ToolRunner | None = None
    device_id: str = ""
    note_model: Callable[[ModelUse], None] | None = None
    emotion: str = ""
    committed: Callable[[], Awaitable[None]] | None = None
    voice: str = ""


class Agent(Protocol):
    """An agent as a turn uses it."""

    name: str

    async def update_tools(self, tools: Sequence[ToolDefinition]) -> None:
        """Replace the session's tools. Idempotent; the next model call sees the new list."""
        ...

    def reply(self, request: AgentRequest) -> AsyncIterator[AgentEvent]:
        """Stream the reply; closing the iterator stops the model and its tools.

        Raises ProviderError.
        """
        ...

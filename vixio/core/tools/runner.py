"""Who runs tools: the interface between agents and stations on one side and a runtime on the other.

A :class:`ToolHost` gives every session its tools; a session's tools give every turn a
:class:`TurnTools`, which the agent runs its calls by. The implementation is ``vixio.tools``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

from vixio.core.tools.outbox import Outbox
from vixio.core.tools.toolset import ToolSet
from vixio.core.tools.types import ToolCallResult, ToolDefinition


class ToolRunner(Protocol):
    """Whoever runs a call that a model made."""

    async def run(self, tool: ToolDefinition, arguments: str, call_id: str = "") -> ToolCallResult:
        """Run ``tool`` with the JSON text that the model wrote.

        Whatever goes wrong is a result; only cancellation is raised.
        """
        ...


class TurnTools(ABC):
    """The tools of one turn: a :class:`ToolRunner` that has heard what the user said."""

    outbox: Outbox
    """What the tools say and show meanwhile."""

    @abstractmethod
    async def run(self, tool: ToolDefinition, arguments: str, call_id: str = "") -> ToolCallResult:
        """See :class:`ToolRunner`."""


class SessionTools(ABC):
    """The tools of one session."""

    toolset: ToolSet
    """What the session can call; only what its device may use."""

    @abstractmethod
    def begin_turn(self, turn_id: int, text: str, language: str, *, asked: bool) -> TurnTools:
        """Begin the turn in which the user said ``text``.

        This is where the user's yes or no to a pending call is heard; nothing else can confirm.
        ``asked``: the assistant's words before were heard, at least in part.
        """

    @abstractmethod
    async def close(self) -> None:
        """End what the session's tools hold."""


class ToolHost(ABC):
    """The tools of all sessions."""

    @abstractmethod
    def open(self, device_id: str, session_id: str) -> SessionTools:
        """Return the tools of a new session."""

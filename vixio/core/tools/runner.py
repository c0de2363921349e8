"""Running tools: the interface between agents and turns on one side and a runtime on the other.

A :class:`ToolHost` gives every session its tools; a session's tools give every turn a
:class:`TurnTools`, which runs the agent's calls. The implementation is ``vixio.tools``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol

from vixio.core.chunk import Chunk
from vixio.core.device import DeviceProfile
from vixio.core.tools.late import LateDelivery
from vixio.core.tools.toolset import ToolSet
from vixio.core.tools.types import ToolCallResult, ToolDefinition


class ToolRunner(Protocol):
    """Runs the calls that a model makes."""

    async def run(self, tool: ToolDefinition, arguments: str, call_id: str = "") -> ToolCallResult:
        """Run ``tool`` with the JSON text that the model wrote.

        Whatever goes wrong is a result; only cancellation is raised.
        """
        ...


class TurnTools(ABC):
    """The tools of one turn: a :class:`ToolRunner` that knows what the user said."""

    @abstractmethod
    def hear(self, text: str, *, asked: bool) -> None:
        """Take the user's words of this turn, before any tool that needs consent is run.

        This is where a yes or no to a pending call is heard; nothing else can confirm. Not called
        for words that are not the user's own. ``asked``: the user heard the assistant's words
        before, at least in part.
        """

    @abstractmethod
    async def run(self, tool: ToolDefinition, arguments: str, call_id: str = "") -> ToolCallResult:
        """See :class:`ToolRunner`."""


class SessionTools(ABC):
    """The tools of one session."""

    toolset: ToolSet
    """What the session can call; only what its device may use."""

    @abstractmethod
    def begin_turn(
        self, turn_id: int, language: str, emit: Callable[[Chunk], None] | None = None
    ) -> TurnTools:
        """Return the tools of a new turn. This alone has no effect.

        ``emit`` takes what tools say and show meanwhile; it is called from any thread.
        """

    @property
    def awaits_consent(self) -> bool:
        """Whether a call waits for the user's yes."""
        return False

    @property
    def working(self) -> bool:
        """Whether work goes on whose result will be told later."""
        return False

    def withdraw(self) -> None:  # noqa: B027 - optional
        """Drop a question that waits for the user's yes: a yes may now be meant for other words."""

    def deliver_by(self, delivery: LateDelivery) -> None:  # noqa: B027 - optional
        """Deliver results that come after their turns by ``delivery``."""

    def reconfigure(self, profile: DeviceProfile) -> None:  # noqa: B027 - optional
        """Follow the user and the tool policy of another profile."""

    @abstractmethod
    async def close(self) -> None:
        """End what the session's tools hold."""


class ToolHost(ABC):
    """The tools of all sessions."""

    @abstractmethod
    def open(
        self, device_id: str, session_id: str, profile: DeviceProfile | None = None
    ) -> SessionTools:
        """Return the tools of a new session; without a ``profile`` nothing restricts them."""

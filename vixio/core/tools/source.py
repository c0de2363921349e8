"""The interface of tool sources.

A source belongs to the process and serves all sessions of its :class:`Scope`: one client of an MCP
server, one folder of Python files. State of a session belongs to the
:class:`~vixio.core.tools.context.ToolContext` that its calls receive. A device's own tools are not
a source: the transport puts them into the tool set of the device's session.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from vixio.core.tools.types import ToolDefinition

Watcher = Callable[["ToolSource"], None]


@dataclass(frozen=True, slots=True)
class Fault:
    """A part of a source that does not work. ``reason``: one line."""

    place: str
    reason: str


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose sessions a source is for: those of a profile, or of a device. Without either: all."""

    profile: str = ""
    """The name of a profile of the registry."""
    device: str = ""

    def covers(self, device_id: str, profile: str) -> bool:
        """Whether a session of this device and profile may use the source."""
        if self.device:
            return device_id == self.device
        return not self.profile or profile == self.profile

    @property
    def kind(self) -> str:
        """``profile`` or ``own`` (a device's); empty: the source is for all."""
        return "own" if self.device else "profile" if self.profile else ""


EVERYBODY: Final = Scope()


def is_scoped(source: str) -> bool:
    """Whether the name of a source, as sessions have it, is that of one with a scope."""
    return "/" in source


def scoped_name(name: str, scope: Scope) -> str:
    """Return the name of a source as sessions have it: ``profile/weather``."""
    return f"{scope.kind}/{name}" if scope.kind else name


def source_key(name: str, scope: Scope) -> str:
    """Return the key that a source of this name and scope has."""
    return _key(scoped_name(name, scope), scope)


def _key(name: str, scope: Scope) -> str:
    owner = scope.device or scope.profile
    return f"{name} of {owner}" if owner else name


class ToolSource(ABC):
    """A named source of tools. The runtime starts it, follows its list and closes it.

    A new kind of tool is one subclass: :meth:`tools` gives definitions whose ``caller`` runs them,
    and :meth:`changed` is called whenever they would differ.
    """

    def __init__(self, name: str, scope: Scope = EVERYBODY) -> None:
        """``name`` is used in patterns, counters and in front of colliding tool names.

        With a ``scope`` it begins with the scope's kind, so that whoever may name such a source
        cannot give it the name, and so the rights, of one that is for all: ``profile/weather``.
        """
        self.for_scope(name, scope)
        self.faults: list[Fault] = []
        """What does not work now; shown by `vixio check`."""
        self._watchers: list[Watcher] = []

    def for_scope(self, name: str, scope: Scope) -> None:
        """Give it another name and scope, before it is started."""
        self.name = scoped_name(name, scope)
        self.scope = scope

    @property
    def key(self) -> str:
        """Its name among all sources of the process."""
        return _key(self.name, self.scope)

    async def start(self) -> None:  # noqa: B027 - most sources have nothing to prepare
        """Begin to offer tools; slow work continues in the background.

        A service that is down is not an error: the source has no tools until it is back. After
        ``tool_start`` seconds (:class:`~vixio.core.timeouts.Timeouts`) the server goes on without
        the source, until this returns.
        """

    async def ready(self) -> None:  # noqa: B027 - most sources know when they have started
        """Wait until it is known whether it works; :meth:`start` need not wait for this."""

    @property
    def pending(self) -> bool:
        """Whether it is not known yet if it works; :meth:`ready` waits for that."""
        return False

    @abstractmethod
    def tools(self) -> Sequence[ToolDefinition]:
        """Return the tools that it offers now; cheap, and equal while nothing changed.

        The tool set fills in their ``source``. Their ``options`` are defaults, which the settings
        may override. While this raises, the last list stays.
        """

    async def look(self) -> str:
        """Return more than the number of tools for `vixio check`: who answers, how fast."""
        return ""

    async def close(self) -> None:  # noqa: B027 - most sources hold nothing
        """Release everything; pending calls fail. Idempotent. Cancelled after ``tool_close`` s."""

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """Call ``watcher`` in the event loop after every change; return a function to stop."""
        self._watchers.append(watcher)

        def unwatch() -> None:
            if watcher in self._watchers:
                self._watchers.remove(watcher)

        return unwatch

    def changed(self) -> None:
        """Call the watchers. To be called in the event loop after every change."""
        for watcher in tuple(self._watchers):
            watcher(self)


class FixedSource(ToolSource):
    """A source whose tools never change."""

    def __init__(
        self, name: str, tools: Sequence[ToolDefinition], scope: Scope = EVERYBODY
    ) -> None:
        super().__init__(name, scope)
        self._tools = tuple(tools)

    def tools(self) -> Sequence[ToolDefinition]:
        """Return the tools."""
        return self._tools

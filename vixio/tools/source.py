"""Where tools come from: the interface that every kind of source implements.

A source belongs to the process and serves all sessions: one client of an MCP server, one folder of
Python files. What is a session's own hangs on the :class:`~vixio.core.tools.context.ToolContext`
that its tools are given. A device's tools are no source: the transport puts them into the tool set
of their own session.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vixio.core.tools.types import ToolDefinition

Watcher = Callable[["ToolSource"], None]


@dataclass(frozen=True, slots=True)
class Fault:
    """What of a source does not work, and why, in one line."""

    place: str
    reason: str


class ToolSource(ABC):
    """A named source. The runtime starts it, follows its list and closes it.

    A new kind of tool is one subclass: :meth:`tools` gives definitions whose ``caller`` runs them,
    and :meth:`changed` is called whenever they would differ.
    """

    def __init__(self, name: str) -> None:
        """``name`` stands in configuration patterns, counters and in front of colliding names."""
        self.name = name
        self.faults: list[Fault] = []
        """What does not work just now; `vixio check` says the first."""
        self._watchers: list[Watcher] = []

    async def start(self) -> None:  # noqa: B027 - most sources have nothing to prepare
        """Begin to have tools; what can take long goes on behind.

        A source that is down must not raise: it has no tools until it is back.
        """

    async def ready(self) -> None:  # noqa: B027 - most sources know when they have started
        """Wait until it is known whether it works; :meth:`start` need not wait for that."""

    @abstractmethod
    def tools(self) -> Sequence[ToolDefinition]:
        """Return what it offers now; cheap, and equal definitions while nothing changed.

        Their ``source`` is set by the tool set, ``options`` are the source's own defaults, which
        the configuration may override.
        """

    async def close(self) -> None:  # noqa: B027 - most sources hold nothing
        """End what it holds; pending calls fail. Idempotent."""

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """Call ``watcher`` after every change, in the event loop; return what ends that."""
        self._watchers.append(watcher)

        def unwatch() -> None:
            if watcher in self._watchers:
                self._watchers.remove(watcher)

        return unwatch

    def changed(self) -> None:
        """Tell the watchers; to be called in the event loop."""
        for watcher in tuple(self._watchers):
            watcher(self)


class FixedSource(ToolSource):
    """A source whose tools never change."""

    def __init__(self, name: str, tools: Sequence[ToolDefinition]) -> None:
        super().__init__(name)
        self._tools = tuple(tools)

    def tools(self) -> Sequence[ToolDefinition]:
        """Return the tools it was made with."""
        return self._tools

"""The tools of one session, by source, under names that every model API accepts.

Replacing a source's tools is atomic and idempotent: an equal list changes nothing, another one
gives a new ``version``. Names are made safe by a deterministic mapping that this set can reverse;
where tools of two sources collide, the source's name is put in front. Sources of a scope are named
last: their tools take no name that a tool of another source has or gets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from weakref import ref

from vixio.core.tools.names import safe_tool_name
from vixio.core.tools.source import is_scoped
from vixio.core.tools.types import ToolDefinition
from vixio.core.waiters import Waiters

DEVICE_SOURCE = "device"
"""The source of a device's own tools in the tool set of its session."""

CLIENT_SOURCE = "client"
"""The source of the tools that the caller of a conversation brings along."""

_OF_ONE_SESSION = frozenset({DEVICE_SOURCE, CLIENT_SOURCE})

Overlay = Callable[[ToolDefinition], ToolDefinition | None]
"""Returns a tool with the session's options, or None if it must not be offered."""


class Renamed:
    """Definitions with their aliases, shared by the sets of many sessions.

    A copy is kept while its original is in use: services may announce other tools every second.
    """

    def __init__(self) -> None:
        # By identity: comparing two definitions costs as much as copying one.
        self._kept: dict[int, tuple[ref[ToolDefinition], ToolDefinition]] = {}

    def __call__(self, tool: ToolDefinition, alias: str) -> ToolDefinition:
        """Return ``tool`` with this alias."""
        key = id(tool)
        kept = self._kept.get(key)
        if kept is not None and kept[1].alias == alias:
            return kept[1]
        copy = replace(tool, alias=alias)
        if tool.source not in _OF_ONE_SESSION:
            # An object's weak references end before its id is used again.
            self._kept[key] = (ref(tool, lambda _: self._kept.pop(key, None)), copy)
        return copy


class ToolSet:
    """The sources of one session's tools and the one list made of them.

    ``overlay`` is applied once to every tool of a source. ``renamed`` is shared by sets with the
    same sources.
    """

    def __init__(self, overlay: Overlay | None = None, renamed: Renamed | None = None) -> None:
        self._overlay = overlay
        self._renamed = renamed or Renamed()
        self._brought: dict[str, tuple[ToolDefinition, ...]] = {}
        self._sources: dict[str, tuple[ToolDefinition, ...]] = {}
        self._listed: tuple[ToolDefinition, ...] = ()
        self._watchers: list[Callable[[tuple[ToolDefinition, ...]], None]] = []
        self.version = 0
        self.device = DeviceToolsState()
        """Settled by the first list under :data:`DEVICE_SOURCE`, once the watchers have it."""

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """Return all tools with their ``alias``, in the order in which sources were added."""
        return self._listed

    def find(self, alias: str) -> ToolDefinition | None:
        """Return the tool that the model knows as ``alias``."""
        return next((tool for tool in self._listed if tool.alias == alias), None)

    def watch(self, watcher: Callable[[tuple[ToolDefinition, ...]], None]) -> Callable[[], None]:
        """Call ``watcher`` with the whole list after every change; return what ends that."""
        self._watchers.append(watcher)

        def unwatch() -> None:
            if watcher in self._watchers:
                self._watchers.remove(watcher)

        return unwatch

    def replace(self, source: str, tools: Iterable[ToolDefinition]) -> bool:
        """Make ``tools`` the tools of ``source``; return whether that changed anything."""
        return self.replace_all({source: tools})

    def replace_all(self, sources: Mapping[str, Iterable[ToolDefinition]]) -> bool:
        """Do what :meth:`replace` does for several sources, as one change."""
        return self._change(sources, ())

    def replace_scoped(self, sources: Mapping[str, Iterable[ToolDefinition]]) -> bool:
        """Make ``sources`` all that have a scope, as one change."""
        return self._change(
            sources, [name for name in self._sources if is_scoped(name) and name not in sources]
        )

    def drop(self, source: str) -> bool:
        """Remove a source that does not come back, with its place in the order."""
        return self._change({}, [source])

    def _change(self, sources: Mapping[str, Iterable[ToolDefinition]], gone: Iterable[str]) -> bool:
        changed = [source for source, tools in sources.items() if self._take(source, tuple(tools))]
        for source in gone:
            self._brought.pop(source, None)
            if self._sources.pop(source, ()):
                changed.append(source)
        if changed:
            self._listed = self._with_aliases()
            self.version += 1
            for watcher in tuple(self._watchers):
                watcher(self._listed)
        if DEVICE_SOURCE in sources:
            self.device.settle()
        return bool(changed)

    def _take(self, source: str, brought: tuple[ToolDefinition, ...]) -> bool:
        """Store the tools of a source; return whether the list has changed."""
        # A source keeps its place while it has no tools, so that names stay the same.
        self._sources.setdefault(source, ())
        if self._brought.get(source, ()) == brought:
            return False
        known = self._sources.get(source, ())
        unique = {
            tool.name: tool if tool.source == source else replace(tool, source=source)
            for tool in brought
        }
        new = tuple(self._allowed(unique.values()))
        self._brought[source] = brought
        self._sources[source] = new
        return new != known

    def change_overlay(self, overlay: Overlay | None) -> None:
        """Apply another overlay to all tools, as one change."""
        self._overlay = overlay
        brought, self._brought = self._brought, {}
        self.replace_all(brought)

    def remove(self, source: str) -> bool:
        """Remove the tools of ``source``; return whether there were any."""
        return self.replace(source, ())

    def source(self, name: str) -> tuple[ToolDefinition, ...]:
        """Return the tools of one source, under the source's own names."""
        return self._sources.get(name, ())

    def _allowed(self, tools: Iterable[ToolDefinition]) -> Iterable[ToolDefinition]:
        if self._overlay is None:
            return tools
        return (kept for tool in tools if (kept := self._overlay(tool)) is not None)

    def _with_aliases(self) -> tuple[ToolDefinition, ...]:
        taken: set[str] = set()
        listed: list[ToolDefinition] = []
        of_device = {tool.name for tool in self._sources.get(DEVICE_SOURCE, ())}
        for source in sorted(self._sources, key=is_scoped):
            for tool in self._sources[source]:
                if not of_device.issuperset(tool.needs):
                    continue
                alias = safe_tool_name(tool.name)
                if alias in taken:
                    alias = safe_tool_name(f"{source}_{tool.name}")
                number = 2
                while alias in taken:
                    alias = safe_tool_name(f"{source}_{number}_{tool.name}")
                    number += 1
                taken.add(alias)
                listed.append(self._renamed(tool, alias))
        return tuple(listed)


class DeviceToolsState:
    """Pending from the hello of a device that announces tools until its first list is there.

    A device that announces none, or no device at all, is never pending. The list counts as there
    when it came, when an earlier list of the device stands in for it, and when it will not come.
    """

    def __init__(self) -> None:
        self._pending = False
        self._settled = Waiters()
        self._wait_s = 0.0

    @property
    def pending(self) -> bool:
        """Whether the first list is still on its way."""
        return self._pending

    def expect(self, wait_s: float) -> None:
        """Begin to be pending. A turn waits at most ``wait_s`` seconds after its end."""
        self._wait_s = wait_s
        self._pending = True

    def settle(self) -> None:
        """The list is there, or will not come."""
        self._pending = False
        self._settled.wake()

    async def settled(self, since: float) -> bool:
        """Wait for the list; return whether it is there.

        ``since``: when the user's turn ended, on the loop's clock; the limit counts from then.
        """
        left = since + self._wait_s - asyncio.get_running_loop().time()
        if not self.pending or left <= 0:
            return not self.pending
        try:
            async with asyncio.timeout(left):
                while self._pending:
                    await self._settled.wait()
        except TimeoutError:
            return False
        return True

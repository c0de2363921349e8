"""Runs all tools, of whatever kind: device, Python, MCP server, REST.

The runtime holds what all sessions share (sources, limits, counters) and gives each session its
:class:`~vixio.core.tools.session.SessionTools`. Steps of a call: permission → arguments checked by
the schema → the user's yes where one is needed → a free slot → the tool, limited in time and
retried → the result, capped. A failure of any step is a structured answer for the model, never an
exception.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vixio.core.device import DeviceProfile
from vixio.core.errors import ToolError
from vixio.core.log_fields import PRIVATE
from vixio.core.metrics import Counters
from vixio.core.tasks import cancel_and_wait
from vixio.core.timeouts import Timeouts
from vixio.core.tools.context import ToolContext
from vixio.core.tools.execute import execute
from vixio.core.tools.guarded import GuardedSource
from vixio.core.tools.limits import Limits
from vixio.core.tools.policy import ToolPolicy
from vixio.core.tools.session import SessionTools
from vixio.core.tools.source import (
    EVERYBODY,
    Fault,
    Scope,
    ToolSource,
    is_scoped,
    source_key,
)
from vixio.core.tools.toolset import DEVICE_SOURCE, Renamed
from vixio.core.tools.types import JsonObject, ToolCallResult, ToolDefinition

_log = logging.getLogger(__name__)

_SESSIONS_AT_ONCE = 50
"""Sessions updated in one go (about 2 ms) before the event loop continues."""

_NOT_FAILED = frozenset({"", "confirmation_required"})


@dataclass(frozen=True, slots=True)
class RuntimeSettings:
    """How tools are run.

    ``source_concurrency``: source → concurrent calls; for ``device``, and sources with a scope, per
    device, for other sources per process. ``log_content``: log arguments and results at DEBUG; they
    contain users' words.
    """

    policy: ToolPolicy = field(default_factory=ToolPolicy)
    source_concurrency: Mapping[str, int] = field(default_factory=dict)
    log_content: bool = False
    timeouts: Timeouts = field(default_factory=Timeouts)


@dataclass(frozen=True, slots=True)
class SourceReport:
    """How a source is now. ``pending``: it is not known yet whether it works."""

    name: str
    pending: bool
    faults: Sequence[Fault]
    tools: Sequence[ToolDefinition]


class ToolRuntime:
    """The tools of all sessions. ``sources`` are started, followed and closed with it."""

    def __init__(
        self,
        sources: Iterable[ToolSource] = (),
        *,
        settings: RuntimeSettings | None = None,
        counters: Counters | None = None,
    ) -> None:
        """Raises ValueError when two sources have one name."""
        self.settings = settings or RuntimeSettings()
        self.counters = counters or Counters()
        sources = tuple(sources)
        names = [source.key for source in sources]
        if DEVICE_SOURCE in names or len(set(names)) < len(names):
            raise ValueError(f"names of tool sources must differ, and none is device: {names}")
        self._guarded: dict[str, GuardedSource] = {}
        self._limits = Limits(self.settings.source_concurrency)
        self._sessions: set[SessionTools] = set()
        self.renamed = Renamed()
        self._names: dict[tuple[str, str], str] = {}
        self._stale: dict[str, ToolSource] = {}
        self._following: asyncio.Task[None] | None = None
        self._exchanging: set[asyncio.Task[None]] = set()
        self._started = False
        for source in sources:
            self._add(source)

    @property
    def sources(self) -> Sequence[ToolSource]:
        """The sources that are for all, in the order in which they were added."""
        return tuple(each.source for each in self._shared().values())

    def exchange(self, gone: Collection[str], added: Iterable[ToolSource]) -> None:
        """Close the sources of these keys, and start others; sessions of their scopes follow.

        Calls of a source that is closed fail. Returns at once. Raises ValueError for a source whose
        key another one has.
        """
        added = tuple(added)
        for source in added:
            if source.key in self._guarded and source.key not in gone:
                raise ValueError(f"there is a tool source {source.key} already")
        for key in gone:
            former = self._guarded.pop(key)
            self._spawn(former.close())
            self._source_changed(former.source)
        for source in added:
            guarded = self._add(source)
            if self._started:
                self._spawn(guarded.start())
            self._source_changed(source)

    def has(self, name: str, scope: Scope) -> bool:
        """Whether a source of this scope has a name."""
        return source_key(name, scope) in self._guarded

    async def start(self) -> None:
        """Start all sources, within a limit; one that fails costs its own tools only."""
        self._started = True
        await asyncio.gather(*(each.start() for each in self._guarded.values()))

    async def ready(self, limit: float) -> None:
        """Wait until it is known of all sources whether they work, at most ``limit`` seconds."""
        await asyncio.gather(*(each.ready(limit) for each in self._guarded.values()))

    @property
    def faults(self) -> Sequence[Fault]:
        """What does not work now, of the sources that are for all."""
        return [fault for each in self._shared().values() for fault in each.faults]

    def listed(self) -> dict[str, Sequence[ToolDefinition]]:
        """Return the tools of the sources that are for all, by name; of one that fails, its last
        list."""
        return {name: self._read(each) for name, each in self._shared().items()}

    def scoped(self, device_id: str, profile: str) -> dict[str, Sequence[ToolDefinition]]:
        """Return the tools of the sources that are for this device or profile, by name."""
        return {
            each.source.name: self._read(each)
            for each in self._guarded.values()
            if each.source.scope.kind and each.source.scope.covers(device_id, profile)
        }

    def reports(self, scope: Scope = EVERYBODY) -> Sequence[SourceReport]:
        """Return how each source of a scope is, from what is known already."""
        return [
            SourceReport(each.source.name, each.pending, tuple(each.faults), self._read(each))
            for each in self._guarded.values()
            if each.source.scope == scope
        ]

    async def close(self) -> None:
        """Close all sources, within a limit. Sessions are closed by their owner."""
        await cancel_and_wait(self._following)
        await asyncio.gather(*(each.close() for each in self._guarded.values()), *self._exchanging)

    def open(
        self, device_id: str, session_id: str, profile: DeviceProfile | None = None
    ) -> SessionTools:
        """Return the tools of a new session: all sources at once, its device's when they come."""
        session = SessionTools(self, device_id, session_id, profile or DeviceProfile())
        self._sessions.add(session)
        session.toolset.replace_all({**self.listed(), **self.scoped(device_id, session.profile)})
        return session

    def forget(self, session: SessionTools) -> None:
        """Stop updating ``session``."""
        self._sessions.discard(session)

    async def run_checked(
        self,
        session: SessionTools,
        tool: ToolDefinition,
        arguments: JsonObject,
        context: ToolContext,
        call_id: str = "",
    ) -> ToolCallResult:
        """Run a call; arguments, permission and confirmation are already checked."""
        began = time.perf_counter()
        of_session = tool.source == DEVICE_SOURCE or is_scoped(tool.source)
        limits = session.device_limits if of_session else self._limits
        retries = 0
        try:
            if limits.limited(tool):
                async with limits.slot(tool):
                    result, retries = await execute(tool, arguments, context, call_id)
            else:
                result, retries = await execute(tool, arguments, context, call_id)
        except ToolError as error:
            result = ToolCallResult.failure(error, call_id)
        except asyncio.CancelledError:
            self.count(tool, "cancelled", time.perf_counter() - began)
            raise
        result = result.capped(tool.options.max_result_chars)
        self.count(tool, result.error_type or "", time.perf_counter() - began, retries)
        if self.settings.log_content:
            fields = {"tool": tool.name, "source": tool.source, "arguments": arguments}
            content = {**fields, "result": result.for_model(), PRIVATE: True}
            _log.debug("tool called", extra=content)
        return result

    def count(self, tool: ToolDefinition, outcome: str, seconds: float, retries: int = 0) -> None:
        """Count a call. ``outcome``: the error's type, empty for success.

        Counters: ``tool.<source>.calls``, ``.failed`` (of any type), ``.<type>`` of the error,
        ``.retries``, ``.us`` (microseconds of all calls). Their number is bounded: sources are
        configured, and there are few types; those of profiles count as ``profile``, those of
        devices as ``own``.
        """
        add, source = self.counters.add, tool.source
        add(self._name(source, "calls"))
        add(self._name(source, "us"), round(seconds * 1e6))
        if retries:
            add(self._name(source, "retries"), retries)
        if outcome not in _NOT_FAILED:
            add(self._name(source, "failed"))
        if outcome not in {"", "failed"}:
            add(self._name(source, outcome))

    def repaired(self, tool: ToolDefinition) -> None:
        """Count a call whose arguments were one step from right, as ``tool.<source>.repaired``."""
        self.counters.add(self._name(tool.source, "repaired"))

    def _name(self, source: str, what: str) -> str:
        key = (source.partition("/")[0], what)
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = f"tool.{key[0]}.{what}"
        return name

    def _shared(self) -> dict[str, GuardedSource]:
        return {key: each for key, each in self._guarded.items() if not each.source.scope.kind}

    def _read(self, source: GuardedSource) -> Sequence[ToolDefinition]:
        if source.read():  # it works again: for the other sessions too
            self._source_changed(source.source)
        return source.tools

    def _add(self, source: ToolSource) -> GuardedSource:
        timeouts = self.settings.timeouts
        guarded = GuardedSource(source, self.counters, timeouts, self._source_changed)
        self._guarded[source.key] = guarded
        source.watch(self._source_changed)
        return guarded

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._exchanging.add(task)
        task.add_done_callback(self._exchanging.discard)

    def _source_changed(self, source: ToolSource) -> None:
        self._stale[source.key] = source
        if self._following is None or self._following.done():
            self._following = asyncio.get_running_loop().create_task(self._follow())

    async def _follow(self) -> None:
        """Update every session with the sources that changed; atomic for each session."""
        while self._stale:
            key, changed = self._stale.popitem()
            scope, name, source = changed.scope, changed.name, self._guarded.get(key)
            if source is not None:
                source.read()
            for number, session in enumerate(tuple(self._sessions), 1):
                if session not in self._sessions:  # it has ended in between
                    continue
                if not scope.covers(session.device_id, session.profile):
                    continue
                if source is None and scope.kind:
                    session.toolset.drop(name)
                else:
                    session.toolset.replace(name, () if source is None else source.tools)
                if number % _SESSIONS_AT_ONCE == 0:
                    await asyncio.sleep(0)

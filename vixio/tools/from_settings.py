"""Makes the tool runtime that the settings describe: sources, permissions, options."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pydantic import BaseModel

from vixio.core.device import ToolAccess
from vixio.core.errors import ConfigError
from vixio.core.facts import FactStore
from vixio.core.metrics import Counters
from vixio.core.tools.policy import ToolPolicy
from vixio.core.tools.runtime import RuntimeSettings, ToolRuntime
from vixio.core.tools.source import ToolSource
from vixio.settings import Settings
from vixio.settings.tools import ToolsSettings
from vixio.tools.builtin import BuiltinSettings
from vixio.tools.local import LocalSettings
from vixio.tools.registry import SourceContext, resolve
from vixio.tools.rest.settings import RestSettings

_EXCHANGED = frozenset({"mcp", "ready", "media"})


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """One source of the settings. ``place``: its key path, for messages. ``trusted``: whether the
    operator gave the options, and not a user of the console, who reaches the internet alone."""

    type: str
    name: str
    place: str
    options: BaseModel
    trusted: bool = True


def make_runtime(
    settings: Settings,
    counters: Counters,
    *,
    facts: FactStore | None = None,
    more: Sequence[ToolSource] = (),
) -> ToolRuntime:
    """Return the runtime that the settings describe, unstarted.

    ``facts``: the store behind the tools that remember. ``more``: further sources. Raises
    ConfigError.
    """
    tools = settings.tools
    context = SourceContext("", settings.assistant.time_zone, facts, counters)
    return ToolRuntime(
        [*make_sources(specs_of(settings), context), *more],
        settings=RuntimeSettings(
            policy=_policy(tools),
            source_concurrency=tools.concurrency,
            log_content=tools.log_content,
            timeouts=settings.time_limits(),
        ),
        counters=counters,
    )


def specs_of(settings: Settings) -> Iterator[SourceSpec]:
    """Return all sources of the settings: sections of a type's own, then ``tools.sources``."""
    tools = settings.tools
    if tools.builtin is not False:
        names = None if tools.builtin is True else tools.builtin
        yield SourceSpec("builtin", "builtin", "tools.builtin", BuiltinSettings(tools=names))
    local = LocalSettings(
        modules=tools.modules, folder=tools.folder, entry_points=tools.entry_points
    )
    yield SourceSpec("local", "local", "tools", local)
    if tools.ready:
        trusted = _by_operator(settings, "ready")
        yield SourceSpec("ready", "ready", "tools.ready", tools.ready, trusted)
    if tools.rest:
        yield SourceSpec("rest", "rest", "tools.rest", RestSettings(tools=tools.rest))
    for name, service in tools.openapi.items():
        yield SourceSpec("openapi", name, f"tools.openapi.{name}", service)
    for index, agent in enumerate(tools.a2a):
        if agent.enabled:
            yield SourceSpec("a2a", agent.source_name(), f"tools.a2a[{index}]", agent)
    if tools.broker is not None and tools.broker.enabled:
        yield SourceSpec("broker", "broker", "tools.broker", tools.broker)
    if tools.media is not None and tools.media.enabled:
        trusted = _by_operator(settings, "media")
        yield SourceSpec("media", "media", "tools.media", tools.media, trusted)
    yield from _listed(settings)


def _by_operator(settings: Settings, key: str) -> bool:
    """Whether a key of ``tools`` is the operator's, or console users may do as much."""
    in_console = {("tools",), ("tools", key)} & settings.origin.console
    return settings.api.programs or not in_console


def _listed(settings: Settings) -> Iterator[SourceSpec]:
    for name, server in settings.mcp_servers.items():
        if server.enabled:
            yield SourceSpec("mcp", name, f"mcp_servers.{name}", server)
    for index, entry in enumerate(settings.tools.sources):
        if entry.enabled:
            yield SourceSpec(entry.type, entry.name, f"tools.sources[{index}]", entry.options)


def changed_sources(
    before: Settings, after: Settings, runtime: ToolRuntime
) -> tuple[Sequence[str], Sequence[ToolSource]]:
    """Return which sources end after a change of the settings, and new ones.

    Those of MCP servers, ready tools and music: of the others nothing changes. Raises ConfigError.
    """
    old, new = (
        {spec.name: spec for spec in specs_of(each) if spec.type in _EXCHANGED}
        for each in (before, after)
    )
    gone = [name for name, spec in old.items() if new.get(name) != spec]
    specs = [spec for name, spec in new.items() if old.get(name) != spec]
    taken = {each.name for each in runtime.sources}.difference(gone)
    for spec in specs:
        if spec.name in taken:
            raise ConfigError(f"{spec.place}: another source is named {spec.name}: change one")
    context = SourceContext("", after.assistant.time_zone, counters=runtime.counters)
    return gone, make_sources(specs, context)


def make_sources(specs: Iterable[SourceSpec], context: SourceContext) -> list[ToolSource]:
    """Make a source of each spec, unstarted. Raises ConfigError that names its place."""
    places: dict[str, str] = {}
    sources: list[ToolSource] = []
    for spec in specs:
        if spec.name in places:
            raise ConfigError(
                f"{spec.place} and {places[spec.name]} are both named {spec.name}: change one"
            )
        places[spec.name] = spec.place
        own = replace(context, name=spec.name, place=spec.place, trusted=spec.trusted)
        try:
            sources.append(resolve(spec.type).create(spec.options, own))
        except ConfigError as error:
            raise ConfigError(f"{spec.place}: {error}") from None
    return sources


def _policy(tools: ToolsSettings) -> ToolPolicy:
    return ToolPolicy(
        ToolAccess(tools.allow, tools.deny, tools.confirm),
        {pattern: section.given() for pattern, section in tools.options.items()},
    )

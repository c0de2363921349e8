"""Types of tool sources: a type in the settings gives a factory, imported when it is needed.

The module of a type exports its factory::

    class HubSettings(SourceSettings):
        url: str = "http://127.0.0.1"

    def _create(settings: HubSettings, context: SourceContext) -> HubSource:
        return HubSource(context.name, settings)

    FACTORY = ToolSourceFactory(settings_model=HubSettings, create=_create)

Importing that module must be cheap: a slow library is imported by the source's ``start``.

Another distribution adds a type by an entry point, ``type = "module:attribute"``::

    [project.entry-points."vixio.tool_sources"]
    acme_hub = "vixio_acme.source:FACTORY"

and a settings file uses it by ``tools.sources: [{type: acme_hub, name: kitchen, url: …}]``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from vixio.core.facts import FactStore
from vixio.core.metrics import Counters
from vixio.core.plugins import Plugin, PluginGroup
from vixio.core.tools.source import ToolSource

__all__ = ["ENTRY_POINT_GROUP", "SourceContext", "ToolSourceFactory", "resolve"]

ENTRY_POINT_GROUP = "vixio.tool_sources"

SettingsT = TypeVar("SettingsT", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class SourceContext:
    """What a source may use of its server.

    ``name``: of the source, from the settings. ``place``: the key path of its options, for
    messages. ``time_zone``: IANA name of the zone that users
    mean, empty for the machine's own. ``facts``: what is remembered about users, None for a store
    of the source's own. ``trusted``: whether the operator gave the options, whose addresses may lie
    in the private network.
    """

    name: str
    time_zone: str = ""
    facts: FactStore | None = None
    counters: Counters = field(default_factory=Counters)
    place: str = ""
    trusted: bool = True


@dataclass(frozen=True)
class ToolSourceFactory(Generic[SettingsT]):
    """How to make a source."""

    settings_model: type[SettingsT]
    """Validates the options beside ``type`` and ``name``. Forbid unknown keys in it."""
    create: Callable[[SettingsT, SourceContext], ToolSource]
    """Makes the source, quickly and unstarted. Raises ConfigError."""


_TYPES: PluginGroup[ToolSourceFactory[Any]] = PluginGroup(
    ENTRY_POINT_GROUP,
    "tool source",
    ToolSourceFactory,
    {
        "a2a": Plugin("vixio.tools.a2a.factory:FACTORY"),
        "ready": Plugin("vixio.tools.ready.source:FACTORY"),
        "builtin": Plugin("vixio.tools.builtin:BUILTIN"),
        "media": Plugin("vixio.tools.media.source:FACTORY"),
        "local": Plugin("vixio.tools.local:LOCAL"),
        "broker": Plugin("vixio.tools.broker.factory:FACTORY"),
        "mcp": Plugin("vixio.tools.mcp.factory:FACTORY"),
        "rest": Plugin("vixio.tools.rest.factory:REST"),
        "openapi": Plugin("vixio.tools.rest.factory:OPENAPI"),
        "knowledge": Plugin("vixio.tools.rest.knowledge:FACTORY"),
    },
)


def types() -> list[str]:
    """Return the types that are installed, sorted."""
    return _TYPES.names()


def resolve(type: str) -> ToolSourceFactory[Any]:
    """Import and return the factory of a type. Raises ConfigError, one line with the remedy."""
    return _TYPES.load(type)

"""Factories of the source types that need no library: built-in tools and Python functions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from vixio.core.tools.source import ToolSource
from vixio.tools.builtin import builtin_source
from vixio.tools.local import LocalSource
from vixio.tools.registry import SourceContext, ToolSourceFactory
from vixio.tools.source_settings import SourceSettings

Name = Annotated[str, Field(min_length=1)]


class BuiltinSettings(SourceSettings):
    """Options of the type ``builtin``."""

    tools: tuple[Name, ...] | None = None
    """Names; unset: all."""


class LocalSettings(SourceSettings):
    """Options of the type ``local``."""

    modules: tuple[Name, ...] = ()
    """``package.module`` or ``package.module:function``."""
    folder: str = ""
    """Python files, each a module with tools; relative to the working directory."""
    entry_points: bool = False
    """Use the tools that other installed packages publish (group ``vixio.tools``)."""


def _builtin(settings: BuiltinSettings, context: SourceContext) -> ToolSource:
    return builtin_source(settings.tools, context.facts, context.time_zone, name=context.name)


def _local(settings: LocalSettings, context: SourceContext) -> ToolSource:
    return LocalSource(
        settings.modules,
        Path(settings.folder) if settings.folder else None,
        use_entry_points=settings.entry_points,
        name=context.name,
    )


BUILTIN = ToolSourceFactory(settings_model=BuiltinSettings, create=_builtin)
LOCAL = ToolSourceFactory(settings_model=LocalSettings, create=_local)

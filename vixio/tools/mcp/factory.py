"""The factory of the source type ``mcp``."""

from __future__ import annotations

from vixio.tools.mcp.config import McpServerConfig
from vixio.tools.mcp.settings import McpServerSettings
from vixio.tools.mcp.source import McpSource
from vixio.tools.registry import SourceContext, ToolSourceFactory
from vixio.tools.source_settings import revealed

_NOT_COPIED = {"enabled", "transport", "env", "headers"}


def _create(settings: McpServerSettings, context: SourceContext) -> McpSource:
    return McpSource(
        McpServerConfig(
            context.name,
            settings.chosen_transport(),
            env=revealed(settings.env),
            headers=revealed(settings.headers),
            place=context.place,
            **settings.model_dump(exclude=_NOT_COPIED),
        )
    )


FACTORY = ToolSourceFactory(settings_model=McpServerSettings, create=_create)

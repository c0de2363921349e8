"""The factory of the source type ``a2a``."""

from __future__ import annotations

from vixio.tools.a2a.config import A2aConfig
from vixio.tools.a2a.settings import A2aSettings
from vixio.tools.a2a.source import A2aSource
from vixio.tools.registry import SourceContext, ToolSourceFactory
from vixio.tools.source_settings import revealed

_NOT_COPIED = {"token", "headers", "name", "enabled"}


def _create(settings: A2aSettings, context: SourceContext) -> A2aSource:
    headers = revealed(settings.headers)
    if settings.token is not None:
        headers["Authorization"] = f"Bearer {settings.token.get_secret_value()}"
    return A2aSource(
        A2aConfig(
            context.name,
            headers=headers,
            place=context.place or "tools.a2a",
            **settings.model_dump(exclude=_NOT_COPIED),
        )
    )


FACTORY = ToolSourceFactory(settings_model=A2aSettings, create=_create)

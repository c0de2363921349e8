"""The factories of the source types ``rest`` and ``openapi``."""

from __future__ import annotations

from vixio.core.tools.types import EMPTY_SCHEMA, ToolOptions
from vixio.tools.registry import SourceContext, ToolSourceFactory
from vixio.tools.rest.config import RestToolConfig
from vixio.tools.rest.openapi import OpenApiConfig, OperationConfig
from vixio.tools.rest.openapi_source import OpenApiSource
from vixio.tools.rest.settings import OpenApiSettings, RestSettings, RestToolSettings
from vixio.tools.rest.source import RestSource
from vixio.tools.source_settings import revealed

_REPEATABLE = frozenset({"GET", "PUT", "DELETE"})
"""Idempotent methods (RFC 9110 9.2.2)."""

_NOT_COPIED = {"parameters", "headers", "query", "timeout", "idempotent", "retries", "confirm"}


def tool_config(tool: RestToolSettings) -> RestToolConfig:
    """Return one tool as the client needs it."""
    idempotent = tool.method in _REPEATABLE if tool.idempotent is None else tool.idempotent
    return RestToolConfig(
        parameters=tool.parameters or dict(EMPTY_SCHEMA),
        headers=revealed(tool.headers),
        places=dict.fromkeys(tool.query, "query"),
        options=ToolOptions(
            timeout=tool.timeout,
            idempotent=idempotent,
            retries=tool.retries if idempotent else 0,
            confirm=tool.confirm,
        ),
        **tool.model_dump(exclude=_NOT_COPIED),
    )


def _rest(settings: RestSettings, context: SourceContext) -> RestSource:
    return RestSource([tool_config(tool) for tool in settings.tools], context.name)


def _openapi(settings: OpenApiSettings, context: SourceContext) -> OpenApiSource:
    operations = {
        key: OperationConfig(**operation.model_dump())
        for key, operation in settings.operations.items()
    }
    return OpenApiSource(
        OpenApiConfig(
            context.name,
            operations=operations,
            headers=revealed(settings.headers),
            place=context.place,
            **settings.model_dump(exclude={"operations", "headers"}),
        )
    )


REST = ToolSourceFactory(settings_model=RestSettings, create=_rest)
OPENAPI = ToolSourceFactory(settings_model=OpenApiSettings, create=_openapi)

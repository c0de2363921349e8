"""From the settings to the tools: which sources there are, and who may use what of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import SecretStr

from vixio.core.errors import ConfigError
from vixio.core.facts import FactStore
from vixio.core.metrics import Counters
from vixio.core.tools.types import EMPTY_SCHEMA, ToolOptions
from vixio.settings import Settings
from vixio.settings.mcp import McpServerSettings
from vixio.settings.rest import OpenApiSettings, RestToolSettings
from vixio.settings.tools import ToolsSettings
from vixio.tools.builtin import builtin_source
from vixio.tools.local import LocalSource
from vixio.tools.mcp.config import McpServerConfig
from vixio.tools.mcp.source import McpSource
from vixio.tools.policy import Access, ToolPolicy
from vixio.tools.rest.config import RestToolConfig
from vixio.tools.rest.openapi import OpenApiConfig, OperationConfig
from vixio.tools.rest.openapi_source import OpenApiSource
from vixio.tools.rest.source import RestSource
from vixio.tools.runtime import RuntimeSettings, ToolRuntime
from vixio.tools.source import ToolSource


def make_runtime(
    settings: Settings,
    counters: Counters,
    *,
    facts: FactStore | None = None,
    more: Sequence[ToolSource] = (),
) -> ToolRuntime:
    """Return the runtime that the settings describe, unstarted.

    ``facts``: where the tools that remember keep what they are told. ``more``: sources besides
    those of the settings. Raises ConfigError.
    """
    tools = settings.tools
    sources = [
        *_sources(tools, facts, settings.assistant.time_zone),
        *_rest_sources(tools),
        *_mcp_sources(settings.mcp_servers),
        *more,
    ]
    twice = {name for name in settings.mcp_servers if name in tools.openapi}
    if twice:
        raise ConfigError(
            f"mcp_servers.{min(twice)} and tools.openapi.{min(twice)} have one name: change one"
        )
    return ToolRuntime(
        sources,
        settings=RuntimeSettings(
            policy=_policy(tools),
            source_concurrency=tools.concurrency,
            log_content=tools.log_content,
        ),
        counters=counters,
    )


def _sources(tools: ToolsSettings, facts: FactStore | None, time_zone: str) -> list[ToolSource]:
    sources: list[ToolSource] = []
    if tools.builtin is not False:
        names = None if tools.builtin is True else tools.builtin
        try:
            sources.append(builtin_source(names, facts, time_zone))
        except ConfigError as error:
            raise ConfigError(f"tools.builtin: {error}") from None
    folder = Path(tools.folder) if tools.folder else None
    sources.append(LocalSource(tools.modules, folder, use_entry_points=tools.entry_points))
    return sources


def _rest_sources(tools: ToolsSettings) -> list[ToolSource]:
    sources: list[ToolSource] = []
    if tools.rest:
        try:
            sources.append(RestSource([_rest_tool(tool) for tool in tools.rest]))
        except ConfigError as error:
            raise ConfigError(f"tools.rest: {error}") from None
    sources += [OpenApiSource(_openapi(name, each)) for name, each in tools.openapi.items()]
    return sources


def _rest_tool(tool: RestToolSettings) -> RestToolConfig:
    idempotent = tool.idempotent
    if idempotent is None:
        idempotent = tool.method in {"GET", "PUT", "DELETE"}
    return RestToolConfig(
        name=tool.name,
        description=tool.description,
        method=tool.method,
        url=tool.url,
        parameters=tool.parameters or dict(EMPTY_SCHEMA),
        headers=_shown(tool.headers),
        places=dict.fromkeys(tool.query, "query"),
        constants=tool.constants,
        result=tool.result,
        allow_private=tool.allow_private,
        options=ToolOptions(
            timeout=tool.timeout,
            idempotent=idempotent,
            retries=tool.retries if idempotent else 0,
            confirm=tool.confirm,
        ),
    )


def _openapi(name: str, service: OpenApiSettings) -> OpenApiConfig:
    return OpenApiConfig(
        name,
        service.document,
        {
            key: OperationConfig(**operation.model_dump())
            for key, operation in service.operations.items()
        },
        service.base_url,
        _shown(service.headers),
        service.allow_private,
        service.timeout,
        service.retries,
    )


def _shown(secrets: Mapping[str, SecretStr]) -> dict[str, str]:
    return {name: value.get_secret_value() for name, value in secrets.items()}


def _mcp_sources(servers: Mapping[str, McpServerSettings]) -> list[ToolSource]:
    return [
        McpSource(
            McpServerConfig(
                name,
                server.chosen_transport(),
                server.command,
                server.args,
                _shown(server.env),
                server.cwd,
                server.url,
                _shown(server.headers),
                server.allow,
                server.deny,
                server.connect_timeout,
                server.timeout,
                server.refresh,
                server.confirm,
                server.retries,
            )
        )
        for name, server in servers.items()
        if server.enabled
    ]


def _policy(tools: ToolsSettings) -> ToolPolicy:
    options = {pattern: section.given() for pattern, section in tools.options.items()}
    for pattern in tools.confirm:
        # Behind the others, so that no earlier pattern takes the yes away.
        options[pattern] = {**options.pop(pattern, {}), "confirm": True}
    return ToolPolicy(
        access=Access(tools.allow, tools.deny),
        devices={
            device: Access(section.allow, section.deny) for device, section in tools.devices.items()
        },
        options=options,
    )

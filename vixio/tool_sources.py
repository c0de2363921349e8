"""From the settings to the tools: which sources there are, and who may use what of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from vixio.core.errors import ConfigError
from vixio.core.facts import FactStore
from vixio.core.metrics import Counters
from vixio.settings import Settings
from vixio.settings.mcp import McpServerSettings
from vixio.settings.tools import ToolsSettings
from vixio.tools.builtin import builtin_source
from vixio.tools.local import LocalSource
from vixio.tools.mcp.config import McpServerConfig
from vixio.tools.mcp.source import McpSource
from vixio.tools.policy import Access, ToolPolicy
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
    return ToolRuntime(
        [*_sources(tools, facts), *_mcp_sources(settings.mcp_servers), *more],
        settings=RuntimeSettings(
            policy=_policy(tools),
            source_concurrency=tools.concurrency,
            log_content=tools.log_content,
        ),
        counters=counters,
    )


def _sources(tools: ToolsSettings, facts: FactStore | None) -> list[ToolSource]:
    sources: list[ToolSource] = []
    if tools.builtin is not False:
        names = None if tools.builtin is True else tools.builtin
        try:
            sources.append(builtin_source(names, facts))
        except ConfigError as error:
            raise ConfigError(f"tools.builtin: {error}") from None
    folder = Path(tools.folder) if tools.folder else None
    sources.append(LocalSource(tools.modules, folder, use_entry_points=tools.entry_points))
    return sources


def _mcp_sources(servers: Mapping[str, McpServerSettings]) -> list[ToolSource]:
    return [
        McpSource(
            McpServerConfig(
                name,
                server.chosen_transport(),
                server.command,
                server.args,
                {key: value.get_secret_value() for key, value in server.env.items()},
                server.cwd,
                server.url,
                {key: value.get_secret_value() for key, value in server.headers.items()},
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

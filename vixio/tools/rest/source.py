"""REST tools as a source with one client. Configurations are checked when it is made."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from vixio.core.errors import ConfigError
from vixio.core.tools.function import FunctionCaller
from vixio.core.tools.source import ToolSource
from vixio.core.tools.types import ToolDefinition
from vixio.tools.rest.answer import compile_result, read
from vixio.tools.rest.client import RestClient
from vixio.tools.rest.config import RestToolConfig
from vixio.tools.rest.request import build, check_template


def to_definition(config: RestToolConfig, client: RestClient, source: str) -> ToolDefinition:
    """Return the tool that ``config`` describes. Raises ConfigError with the key that is wrong."""
    check_template(config)
    pick = compile_result(config.result)

    async def call(**arguments: Any) -> str:  # noqa: ANN401 - as the schema says
        request = build(config, arguments)
        answer = await client.send(
            request, timeout=config.options.timeout, private=config.allow_private
        )
        return await read(answer, pick)

    return ToolDefinition(
        name=config.name,
        description=config.description,
        parameters=config.parameters,
        source=source,
        options=config.options,
        caller=FunctionCaller(call),
    )


class RestSource(ToolSource):
    """A list of REST tools. Connects when a tool is called."""

    def __init__(self, configs: Sequence[RestToolConfig], name: str = "rest") -> None:
        """Raises ConfigError that names the tool."""
        super().__init__(name)
        self._client = RestClient()
        tools: dict[str, ToolDefinition] = {}
        for config in configs:
            if config.name in tools:
                raise ConfigError(f"two tools are named {config.name!r}")
            try:
                tools[config.name] = to_definition(config, self._client, name)
            except ConfigError as error:
                raise ConfigError(f"{config.name}: {error}") from None
        self._tools = tuple(tools.values())

    async def start(self) -> None:
        """Load the HTTP library, off the event loop."""
        if self._tools:
            await asyncio.to_thread(import_module, "httpx2")

    def tools(self) -> Sequence[ToolDefinition]:
        """Return the tools it was made with."""
        return self._tools

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

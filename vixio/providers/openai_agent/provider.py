"""The agent of one session. Cheap to import."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

from pydantic import SecretStr

from vixio.core.errors import ProviderError, ToolError
from vixio.core.streams import closing
from vixio.core.tools.local import func_to_tool_definition
from vixio.core.tools.names import safe_tool_name
from vixio.core.tools.types import ToolDefinition
from vixio.providers.agent import AgentEvent, AgentProvider, AgentRequest, SystemPrompt
from vixio.providers.openai_agent.backend import OpenAIAgentBackend, SharedModelBackend
from vixio.providers.openai_agent.history_items import to_input_items
from vixio.providers.openai_agent.model import ModelTool
from vixio.providers.openai_agent.offered import as_offered
from vixio.providers.openai_agent.settings import OpenAIAgentSettings

_log = logging.getLogger(__name__)

_convert = as_offered

Tool = Any
"""A :class:`~vixio.core.tools.types.ToolDefinition`, an ``agents.FunctionTool``, or a function."""


class OpenAIAgentProvider(AgentProvider):
    """An agent on any OpenAI-compatible model, LiteLLM, or the phrase book.

    An agent made by a backend shares the model and the connections. An agent made with ``api_key``,
    ``model`` and ``base_url`` has its own, and closes them.
    """

    def __init__(
        self,
        api_key: str | None = None,
        model: str = "gpt-4",
        base_url: str | None = None,
        *,
        backend: SharedModelBackend | None = None,
        **options: Any,  # noqa: ANN401 - the fields of OpenAIAgentSettings
    ) -> None:
        """``options``: further fields of OpenAIAgentSettings; pydantic rejects unknown ones."""
        self._owns_backend = backend is None
        if backend is None:
            key = SecretStr(api_key) if api_key else None
            settings = OpenAIAgentSettings(api_key=key, model=model, base_url=base_url, **options)
            backend = OpenAIAgentBackend(settings)
        self._backend = backend
        self.name = backend.name
        self._instructions: SystemPrompt = ""
        self._base: tuple[Tool, ...] = ()
        self._dynamic: tuple[Tool, ...] = ()
        self._converted: dict[str, tuple[Tool, ModelTool]] = {}
        self._listed: tuple[ModelTool, ...] | None = None
        self._closed = False

    async def initialize(
        self, tools: Sequence[Tool | ToolDefinition] = (), system_prompt: SystemPrompt = ""
    ) -> None:
        """Set the permanent tools, which may be functions, and the instructions."""
        self._base = tuple(tools)
        self._instructions = system_prompt
        self._listed = None

    async def update_tools(self, tools: Sequence[Tool | ToolDefinition]) -> None:
        """Replace the changing tools; the running turn's next model call sees them.

        They are converted here, as a device's are when it connects, so that no turn waits for it.
        """
        new = tuple(tools)
        if new == self._dynamic:
            return
        self._dynamic = new
        self._listed = None
        await self._current()

    async def reply(self, request: AgentRequest) -> AsyncIterator[AgentEvent]:
        """Write the reply; see :meth:`~vixio.providers.agent.AgentProvider.reply`."""
        if self._closed:
            raise ProviderError(self.name, "the agent is closed", retryable=False)
        shared = await self._backend.shared()
        from vixio.providers.openai_agent.turn_loop import TurnLoop

        loop = TurnLoop(
            self.name,
            shared.for_turn(),
            self._current,
            self._backend.settings,
            request,
            image_outputs=shared.image_outputs,
            markers=shared.markers,
        )
        instructions = self._instructions
        if not isinstance(instructions, str):
            written = instructions(request)
            instructions = written if isinstance(written, str) else await written
        items = to_input_items(request.history, request.text)
        async with closing(loop.run(instructions, items)) as events:
            async for event in events:
                yield event

    async def close(self) -> None:
        """Drop the tools, and close the connections if they are this agent's own."""
        self._closed = True
        self._base = self._dynamic = ()
        self._converted = {}
        self._listed = None
        if self._owns_backend:
            await self._backend.close()

    async def _current(self) -> Sequence[ModelTool]:
        """Return the current tools, converting the new ones."""
        while self._listed is None:
            base, dynamic = self._base, self._dynamic
            listed: dict[str, ModelTool] = {}
            kept: dict[str, tuple[Tool, ModelTool]] = {}
            for tool in (*base, *dynamic):
                try:
                    if self._add(tool, listed, kept):
                        await asyncio.sleep(0)  # a new schema takes half a millisecond
                except (ToolError, TypeError) as error:
                    # One invalid schema would make the API reject every request of the session.
                    _log.warning("tool left out", extra={"error": str(error)})
            if base is self._base and dynamic is self._dynamic:  # otherwise they have changed
                self._converted = kept
                self._listed = tuple(listed.values())
        return self._listed

    def _add(
        self,
        tool: Tool,
        listed: dict[str, ModelTool],
        kept: dict[str, tuple[Tool, ModelTool]],
    ) -> bool:
        """Add ``tool`` to ``listed``; return whether it had to be converted."""
        definition = _definition(tool)
        name = definition.alias or safe_tool_name(definition.name)
        if name in listed:
            name = safe_tool_name(f"{definition.source}_{definition.name}")
        if name in listed:
            _log.warning("second tool of this name left out", extra={"tool": name})
            return False
        known = self._converted.get(name)
        fresh = known is None or not (known[0] is tool or known[0] == tool)
        if known is None or fresh:
            known = (tool, _convert(replace(definition, alias=name)))
        kept[name] = known
        listed[name] = known[1]
        return fresh


def _definition(tool: Tool) -> ToolDefinition:
    """Return the definition of a tool of any form. Raises TypeError."""
    if isinstance(tool, ToolDefinition):
        return tool
    sdk = sys.modules.get("agents")  # nobody can have a tool of the SDK without it
    if sdk is not None and isinstance(tool, sdk.FunctionTool):
        from vixio.providers.openai_agent.tools import definition_of

        return definition_of(tool)
    return func_to_tool_definition(tool)

"""The agent of a session, of whose replies the pool learns whether the model serves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from vixio.core.streams import closing
from vixio.core.tools.types import ToolDefinition
from vixio.providers.agent import AgentEvent, AgentProvider, AgentRequest, SystemPrompt
from vixio.providers.health import Watch


class WatchedAgent(AgentProvider):
    """Passes everything on to ``agent``. ``watched``: learns whether each reply worked."""

    def __init__(self, agent: AgentProvider, watched: Watch) -> None:
        self.name = agent.name
        self._agent = agent
        self._watched = watched

    async def initialize(
        self, tools: Sequence[Any | ToolDefinition] = (), system_prompt: SystemPrompt = ""
    ) -> None:
        """Initialise the agent."""
        await self._agent.initialize(tools, system_prompt)

    async def update_tools(self, tools: Sequence[Any | ToolDefinition]) -> None:
        """Update its tools."""
        await self._agent.update_tools(tools)

    async def reply(self, request: AgentRequest) -> AsyncIterator[AgentEvent]:
        """Reply with it."""
        with self._watched():
            async with closing(self._agent.reply(request)) as events:
                async for event in events:
                    yield event

    async def close(self) -> None:
        """Close it."""
        await self._agent.close()

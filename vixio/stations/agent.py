"""Asks the agent, and keeps what was said and done in the history."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from vixio.core.chunk import Chunk, TextDelta, ToolCalled, ToolReturned, UserTurn
from vixio.core.clock import now
from vixio.core.history import AssistantMessage, ToolCallItem, ToolResultItem
from vixio.core.messages import message
from vixio.core.station import ReplyStation
from vixio.core.streams import bounded, closing
from vixio.providers.agent import AgentProvider, AgentRequest


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """Seconds until the agent's first sign of life, and between any two later ones."""

    first_timeout: float = 20.0
    next_timeout: float = 45.0


class AgentStation(ReplyStation):
    """UserTurn in, the reply's text and tool calls out."""

    name = "agent"

    def __init__(self, agent: AgentProvider, settings: AgentSettings | None = None) -> None:
        self._agent = agent
        self._settings = settings or AgentSettings()

    async def run(self, upstream: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
        """Answer turns; everything else passes through."""
        async with closing(upstream) as chunks:
            async for chunk in chunks:
                if not isinstance(chunk, UserTurn):
                    yield chunk
                elif not chunk.understood:
                    self.context.timeline(chunk.turn_id).outcome = "not_understood"
                    language = chunk.language or self.context.language
                    yield TextDelta(chunk.turn_id, message("not_understood", language))
                else:
                    async with closing(self._answer(chunk)) as answer:
                        async for piece in answer:
                            yield piece

    async def close(self) -> None:
        """Close the session's agent."""
        await self._agent.close()

    async def _answer(self, turn: UserTurn) -> AsyncIterator[Chunk]:
        history = self.context.history
        timeline = self.context.timeline(turn.turn_id)
        request = AgentRequest(
            turn.turn_id, turn.text, history.items(), turn.language or self.context.language
        )
        history.begin(turn.turn_id, turn.text)
        events = bounded(
            self._agent.reply(request),
            provider=self._agent.name,
            what="answer",
            first=self._settings.first_timeout,
            next=self._settings.next_timeout,
        )
        async with closing(events) as answer:
            async for event in answer:
                match event:
                    case TextDelta(text=text):
                        timeline.mark("first_token", now())
                        history.append(turn.turn_id, AssistantMessage(text))
                    case ToolCalled():
                        history.append(
                            turn.turn_id, ToolCallItem(event.call_id, event.name, event.arguments)
                        )
                    case ToolReturned():
                        history.append(turn.turn_id, ToolResultItem(event.call_id, event.output))
                yield event

"""Asks the agent, and keeps what was said and done in the history."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from vixio.core.chunk import Chunk, TextDelta, ToolCalled, ToolReturned, UserTurn
from vixio.core.clock import now
from vixio.core.history import AssistantMessage, ToolCallItem, ToolResultItem
from vixio.core.messages import message
from vixio.core.metrics import ModelUse, TurnTimeline
from vixio.core.station import Emit, ReplyStation, StationContext
from vixio.core.streams import bounded, closing
from vixio.core.tools.outbox import merged
from vixio.providers.agent import AgentProvider, AgentRequest


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """Seconds until the agent's first sign of life, and between any two later ones."""

    first_timeout: float = 20.0
    next_timeout: float = 45.0


class AgentStation(ReplyStation):
    """UserTurn in, the reply's text and tool calls out."""

    name = "agent"

    def __init__(
        self,
        agent: AgentProvider,
        settings: AgentSettings | None = None,
        *,
        follow_tools: bool = False,
    ) -> None:
        """``follow_tools``: tell the agent of every change of the session's tool set."""
        self._agent = agent
        self._settings = settings or AgentSettings()
        self._follow_tools = follow_tools

    def bind(self, context: StationContext, emit: Emit) -> None:
        """Follow the session's tools from now on, where that is wanted."""
        super().bind(context, emit)
        if self._follow_tools:
            context.tools.watch(lambda _: context.spawn(self._update_tools()))

    async def _update_tools(self) -> None:
        await self._agent.update_tools(self.context.tools.definitions())

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
        await history.ready()
        before = history.items()
        language = turn.language or self.context.language
        turn_tools = None
        if self.context.session_tools is not None:
            # The last thing the user heard of an unanswered call is no question about it.
            asked = bool(before) and isinstance(before[-1], AssistantMessage)
            turn_tools = self.context.session_tools.begin_turn(
                turn.turn_id, turn.text, language, asked=asked
            )
        if self._follow_tools:
            await self._update_tools()
        request = AgentRequest(
            turn.turn_id,
            turn.text,
            before,
            language,
            turn_tools,
            self.context.device_id,
            lambda use: self._note(timeline, use),
            turn.emotion,
        )
        history.begin(turn.turn_id, turn.text)
        reply: AsyncIterator[Chunk] = self._agent.reply(request)
        events = bounded(
            merged(reply, turn_tools.outbox) if turn_tools is not None else reply,
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

    def _note(self, timeline: TurnTimeline, use: ModelUse) -> None:
        """Put a model's answer on the turn's record, and count it."""
        timeline.models.append(use)
        count = self.context.counters.add
        count(f"model.answers.{use.model}")
        count("model.tokens.input", use.input_tokens)
        count("model.tokens.cached", use.cached_tokens)
        count("model.tokens.output", use.output_tokens)
        for name in use.passed_over:
            count(f"model.passed_over.{name}")

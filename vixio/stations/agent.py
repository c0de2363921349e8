"""Asks the agent; the bookkeeping of a turn is the turn runner's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

from vixio.core.chunk import Chunk, TextDelta, UserTurn
from vixio.core.errors import blamed_on
from vixio.core.messages import message
from vixio.core.station import Emit, ReplyStation, StationContext
from vixio.core.streams import closing
from vixio.core.timeouts import Timeouts
from vixio.core.turns.runner import TurnRunner
from vixio.providers.agent import AgentProvider


class AgentStation(ReplyStation):
    """UserTurn in, the reply's text and tool calls out."""

    name = "agent"
    answers_ahead = True

    def __init__(
        self,
        agent: AgentProvider,
        timeouts: Timeouts | None = None,
        *,
        follow_tools: bool = False,
    ) -> None:
        """``follow_tools``: hand every change of the session's tool set to the agent."""
        self._agent = agent
        self._timeouts = timeouts
        self._follow_tools = follow_tools
        self._runner: TurnRunner | None = None

    def bind(self, context: StationContext, emit: Emit) -> None:
        """Make the session's turn runner."""
        super().bind(context, emit)
        self._runner = TurnRunner(
            self._agent, context, self._timeouts, follow_tools=self._follow_tools
        )

    async def run(self, upstream: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
        """Answer turns; everything else passes through."""
        async with closing(upstream) as chunks:
            async for chunk in chunks:
                if not isinstance(chunk, UserTurn):
                    yield chunk
                elif not chunk.understood:
                    self.context.timeline(chunk.turn_id).outcome = "not_understood"
                    # Not in the language of the chunk: a recogniser that understood nothing of it
                    # names the one language that it knows.
                    words = message("not_understood", self.context.language)
                    yield TextDelta(chunk.turn_id, words)
                else:
                    async with closing(self._answer(chunk)) as answer:
                        async for piece in answer:
                            yield piece

    async def close(self) -> None:
        """Close the session's agent."""
        if self._runner is not None:
            self._runner.close()
        await self._agent.close()

    async def _answer(self, turn: UserTurn) -> AsyncIterator[Chunk]:
        if self._runner is None:
            raise RuntimeError("the station is not bound to a session")
        with blamed_on("agent"):
            async with aclosing(self._runner.prepare(turn)) as prepared:
                if turn.commitment is None:
                    prepared.commit()
                else:
                    turn.commitment.then(prepared.commit)
                async with closing(prepared.events()) as events:
                    async for event in events:
                        yield event

"""Asks the agent; the bookkeeping of a turn is the turn runner's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing

from vixio.core.chunk import Chunk, TextDelta, UserTurn
from vixio.core.errors import blamed_on
from vixio.core.history import AssistantMessage
from vixio.core.messages import message
from vixio.core.messages.apology import not_understood
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
        first_apology: Callable[[str], str] | None = None,
    ) -> None:
        """``follow_tools``: hand every change of the session's tool set to the agent.

        ``first_apology``: of an agent that knows commands only, returns the key of what is said, in
        a language, the first time that nothing was understood.
        """
        self._agent = agent
        self._first_apology = first_apology
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
                    yield TextDelta(chunk.turn_id, self._apology(chunk.turn_id))
                else:
                    async with closing(self._answer(chunk)) as answer:
                        async for piece in answer:
                            yield piece

    async def close(self) -> None:
        """Close the session's agent."""
        if self._runner is not None:
            self._runner.close()
        await self._agent.close()

    def _apology(self, turn_id: int) -> str:
        # Not in the language of the turn: a recogniser that understood nothing of it names the one
        # language that it knows.
        language, history = self.context.language, self.context.history
        first = self._first_apology(language) if self._first_apology else ""
        said = [item.text for item in history.items() if isinstance(item, AssistantMessage)]
        words = not_understood(language, said, first)
        if first and words == message(first, language):  # the agent has to know that it was said
            history.begin(turn_id)
            history.append(turn_id, AssistantMessage(words))
        return words

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

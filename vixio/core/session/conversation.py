"""A typed conversation: turns of the agent without a device.

It follows the rules of a device's session: its history, the user's consent, the tools (except those
of a device), time limits and events. Nothing is played, so a reply is over when it is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from vixio.core.agent import Agent
from vixio.core.chunk import Chunk, TextDelta, ToolCalled, ToolReturned, UserTurn
from vixio.core.clock import now
from vixio.core.errors import ConnectionClosed, ProviderTimeout, cause, describe
from vixio.core.history import History
from vixio.core.messages import failure_key
from vixio.core.metrics import Counters, TurnTimeline
from vixio.core.session.emitter import Emitter
from vixio.core.session.events import (
    EventBus,
    Failure,
    SpeechInterrupted,
    SpeechPlayed,
    TurnEnded,
    TurnStarted,
)
from vixio.core.session.reply_record import ToolRecord
from vixio.core.session.written_reply import ReplyCollector, WrittenReply
from vixio.core.station import StationContext
from vixio.core.streams import STEADY_S, closing, within
from vixio.core.timeouts import Timeouts
from vixio.core.tools.session import SessionTools
from vixio.core.tools.toolset import ToolSet
from vixio.core.turns.runner import PreparedTurn, TurnRunner

LONGEST = 10
"""Times the limit of a turn: there also an answer ends that comes steadily."""


@dataclass(frozen=True, slots=True)
class ConversationSettings:
    """``language`` (BCP 47) of the user."""

    language: str = "en"
    timeouts: Timeouts = field(default_factory=Timeouts)


class Conversation:
    """A conversation in writing. Use it as ``async with``, or close it.

    One turn at a time: a question that comes meanwhile waits until the turn before is over. A
    question that fails, is cancelled or is read only in part stays in the history, with the text
    that was handed out and the tools that were called.
    """

    def __init__(
        self,
        key: str,
        agent: Agent,
        history: History,
        session_tools: SessionTools,
        *,
        session_id: str,
        counters: Counters | None = None,
        events: EventBus | None = None,
        settings: ConversationSettings | None = None,
        release: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """``key``: takes the place of a device's id. ``release`` closes what belongs to it."""
        self.key = key
        self.history = history
        self._settings = settings or ConversationSettings()
        self._emit = Emitter(events or EventBus(), key, session_id)
        self._release = release
        self._session_tools = session_tools
        self._tasks: set[asyncio.Task[None]] = set()
        self._context = StationContext(
            session_id=session_id,
            device_id=key,
            history=history,
            tools=session_tools.toolset,
            counters=counters or Counters(),
            spawn=self._spawn,
            language=self._settings.language,
            session_tools=session_tools,
        )
        self._agent = agent
        self._runner = TurnRunner(agent, self._context, self._settings.timeouts, follow_tools=True)
        self._one_at_a_time = asyncio.Lock()
        self._turn: PreparedTurn | None = None
        self._closed = ""
        """Why it is closed."""

    @property
    def language(self) -> str:
        """Of the user (BCP 47)."""
        return self._settings.language

    @property
    def tools(self) -> ToolSet:
        """What it can call."""
        return self._context.tools

    @property
    def awaits_consent(self) -> bool:
        """Whether the last turn asked for the user's yes to a call, which the next one may give."""
        return self._session_tools.awaits_consent

    def withdraw(self) -> None:
        """Drop a question that waits for the user's yes."""
        self._session_tools.withdraw()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def ask(self, text: str) -> WrittenReply:
        """Return the whole answer to ``text``.

        Raises ProviderError (ProviderTimeout when it takes too long), and ConnectionClosed when the
        conversation is closed, by itself or because the device of its key has connected.
        """
        reply = ReplyCollector()
        async with aclosing(self._write(text, reply)) as pieces:
            async for _ in pieces:
                pass
        return reply.whole()

    async def stream(self, text: str) -> AsyncGenerator[Chunk, None]:
        """Yield the answer to ``text`` as it is written.

        The pieces are TextDelta, ToolCalled, ToolReturned, Notice and Farewell. Raises what
        :meth:`ask` does. Close the iterator (``contextlib.aclosing``) to stop early.
        """
        async with aclosing(self._write(text, ReplyCollector(shown=True))) as pieces:
            async for piece in pieces:
                yield piece

    async def close(self, reason: str = "the conversation is closed") -> None:
        """Stop the turn under way, and release the agent and the tools. Idempotent.

        ``reason``: the message of the ConnectionClosed that further questions get.
        """
        if self._closed:
            return
        self._closed = reason
        if self._turn is not None:
            await self._turn.aclose()
        self._runner.close()
        for task in tuple(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(tuple(self._tasks))
        if self._release is not None:
            await self._release()

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    async def _write(self, text: str, reply: ReplyCollector) -> AsyncGenerator[Chunk, None]:
        async with self._one_at_a_time:
            self._refuse_if_closed()
            turn = UserTurn(self.history.next_turn_id(), text)
            timeline = self._context.timeline(turn.turn_id)
            timeline.mark("turn_end", now())
            timeline.outcome = "interrupted:cancelled"
            reply.models = timeline.models
            tools = ToolRecord(timeline, self._emit)
            self._emit(TurnStarted, turn.turn_id, text)
            try:
                async with aclosing(self._answer(turn)) as pieces:
                    async for piece in pieces:
                        reply.add(piece)
                        if isinstance(piece, ToolCalled | ToolReturned):
                            tools.note(piece)
                        yield piece
                self._refuse_if_closed()
                if reply.text.strip():
                    timeline.outcome = timeline.answer
                else:
                    timeline.outcome = "failed:no_answer"
                    self._emit(Failure, turn.turn_id, "reply", "no_answer", "no_answer")
            except ConnectionClosed:
                timeline.outcome = "interrupted:closed"
                raise
            except Exception as error:
                timeline.outcome = f"failed:{self._failed(turn.turn_id, error)}"
                raise
            finally:
                self._end(reply, timeline)

    async def _answer(self, turn: UserTurn) -> AsyncGenerator[Chunk, None]:
        seconds, came = self._settings.timeouts.turn, 0.0
        async with aclosing(self._runner.prepare(turn)) as prepared:
            self._turn = prepared
            prepared.commit()
            try:
                events = within(prepared.events(), LONGEST * seconds)
                async with closing(within(events, seconds, lambda: came + STEADY_S)) as pieces:
                    async for piece in pieces:
                        yield piece
                        if isinstance(piece, TextDelta):
                            came = now()
            except TimeoutError:
                raise ProviderTimeout(self._agent.name, "whole answer", seconds) from None
            finally:
                self._turn = None

    def _end(self, reply: ReplyCollector, timeline: TurnTimeline) -> None:
        """Leave of a turn what the user has read of it."""
        turn_id, seen = timeline.turn_id, reply.seen
        reply.outcome = timeline.outcome
        if timeline.was_answered:
            self.history.close(turn_id)
            self._emit(SpeechPlayed, turn_id, reply.text)
        else:
            self.history.cut(turn_id, seen)
            if seen.strip():
                self._emit(SpeechInterrupted, turn_id, seen, timeline.result[1])
        self._context.timelines.pop(turn_id, None)
        self._emit(TurnEnded, turn_id, timeline)

    def _failed(self, turn_id: int, error: Exception) -> str:
        """Report a failure; return its key."""
        reason, _ = cause(error)
        key = failure_key(reason)
        self._emit(Failure, turn_id, "reply", reason or key, describe(error))
        return key

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise ConnectionClosed(self._closed)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

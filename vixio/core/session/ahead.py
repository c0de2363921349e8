"""An answer that is made while the user may still go on: it has no effect before it is taken.

It begins in a pause of the user, with the words so far. If these are all, the answer is under way
when the turn ends; if not, it is dropped, and nothing is left of it: no word in the history, no
sound, no tool that does anything. What a model read and wrote for it is counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Final

from vixio.core.chunk import Chunk, Commitment, Completeness, EarlyTranscript, UserTurn
from vixio.core.log_fields import logged_as
from vixio.core.session.engine import Engine
from vixio.core.station import StationContext
from vixio.core.streams import closing
from vixio.core.whole_phrases import bare

MADE_CHUNKS: Final = 64
"""Chunks that are made before the answer is taken; then its engine waits."""


class AnswerAhead:
    """The answer to ``turn``, in the making. It ends by :meth:`chunks` or :meth:`drop`."""

    def __init__(self, turn: UserTurn, engine: Engine, context: StationContext) -> None:
        self.turn = turn
        self._engine = engine
        self._context = context
        self._commitment = Commitment()
        self._made: asyncio.Queue[Chunk | Exception | None] = asyncio.Queue(MADE_CHUNKS)
        self._task: asyncio.Task[None] | None = None
        self._failed = self._dropped = False
        self._over = asyncio.Event()
        context.counters.add("turn.ahead")
        context.spawn(self._make())

    def answers(self, turn: UserTurn) -> bool:
        """Whether it is an answer to ``turn``: to the same words, case and punctuation aside."""
        ours = self.turn
        return (
            not (self._failed or self._dropped)
            and (ours.turn_id, ours.language, ours.emotion)
            == (turn.turn_id, turn.language, turn.emotion)
            and turn.understood
            and bare(ours.text) == bare(turn.text)
        )

    async def chunks(self) -> AsyncIterator[Chunk]:
        """Take the answer: let it have its effects, and yield it as the engine's ``reply`` would.

        Closing the stream stops all work on it. Raises what the engine raised.
        """
        timeline = self._context.timeline(self.turn.turn_id)
        if (at := timeline.marks.pop("first_sentence", None)) is not None:
            timeline.mark("first_sentence", at)  # which is not before the end of the turn now
        self._commitment.give()
        try:
            while (made := await self._made.get()) is not None:
                if isinstance(made, Exception):
                    raise made
                yield made
        finally:
            self._stop()
            await self._over.wait()

    def drop(self) -> None:
        """Stop it; nothing of it is left. Idempotent."""
        if not self._dropped:
            self._context.counters.add("turn.ahead_dropped")
            if (timeline := self._context.timelines.get(self.turn.turn_id)) is not None:
                timeline.marks.pop("first_sentence", None)
        self._stop()

    def _stop(self) -> None:
        self._dropped = True
        if self._task is not None and not self._task.done():
            self._task.cancel()
        elif self._task is None:
            self._over.set()

    async def _make(self) -> None:
        if self._dropped:
            return
        self._task = asyncio.current_task()
        turn = replace(self.turn, commitment=self._commitment)
        end: Exception | None = None
        try:
            with logged_as(turn=turn.turn_id):
                async with closing(self._engine.reply(turn)) as chunks:
                    async for chunk in chunks:
                        await self._made.put(chunk)
        except Exception as error:  # noqa: BLE001 - raised again where the answer is read
            self._failed, end = True, error
        finally:
            self._over.set()
        await self._made.put(end)


class ThinkingAhead:
    """The answer that one session makes ahead, if there is one."""

    def __init__(self, context: StationContext) -> None:
        self._context = context
        self._answer: AnswerAhead | None = None

    def begin(self, early: EarlyTranscript, engine: Engine) -> None:
        """Begin to answer what was heard so far, unless the user has more to say.

        An answer to the same words goes on: it was begun with partial ones.
        """
        turn = UserTurn(early.turn_id, early.text, language=early.language, emotion=early.emotion)
        if self._answer is not None and self._answer.answers(turn):
            return
        self.drop()
        if early.completeness is not Completeness.INCOMPLETE and getattr(
            engine, "answers_ahead", False
        ):
            self._answer = AnswerAhead(turn, engine, self._context)

    def take(self, turn: UserTurn) -> AnswerAhead | None:
        """Return the answer if it is one to ``turn``, and drop any other."""
        answer = self._answer
        if answer is None or not answer.answers(turn):
            self.drop()
            return None
        self._answer = None
        self._context.counters.add("turn.ahead_taken")
        return answer

    def drop(self) -> None:
        """Drop the answer that is being made. Idempotent."""
        answer, self._answer = self._answer, None
        if answer is not None:
            answer.drop()

"""The utterances of the user that are heard or still recognised."""

from __future__ import annotations

import asyncio
import math
from contextlib import suppress
from dataclasses import replace

from vixio.core.chunk import UserTurn
from vixio.core.clock import now
from vixio.core.waiters import Waiters


class Utterances:
    """Their turn ids, and a wait for the end of all of them."""

    def __init__(self) -> None:
        self._turns: set[int] = set()
        self._ended = Waiters()
        self.over_at = -math.inf
        """When the last one ended, or what was heard became void."""

    def __bool__(self) -> bool:
        return bool(self._turns)

    def __contains__(self, turn_id: int) -> bool:
        return turn_id in self._turns

    def begin(self, turn_id: int) -> None:
        """An utterance began."""
        self._turns.add(turn_id)

    def end(self, turn_id: int) -> None:
        """Its words are known, or it was dropped."""
        self._turns.discard(turn_id)
        self.over_at = now()
        self._ended.wake()

    def clear(self) -> None:
        """All of them are void, and whatever else was heard."""
        self._turns.clear()
        self.over_at = now()
        self._ended.wake()

    async def over(self, seconds: float | None) -> None:
        """Wait until there is none, for ``seconds`` at most; None: without a limit."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._turns:
                    await self._ended.wait()


def joined(first: UserTurn | None, then: UserTurn) -> UserTurn:
    """Return two turns as one, in the order in which they were said."""
    if first is None:
        return then
    if then.turn_id < first.turn_id:
        turn_id, text = first.turn_id, f"{then.text} {first.text}"
    else:
        turn_id, text = then.turn_id, f"{first.text} {then.text}"
    return replace(then, turn_id=turn_id, text=text, alternatives=())

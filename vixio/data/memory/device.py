"""The memory of one device: loads its history, and writes its turns in order."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vixio.core.history import History, Turn
from vixio.data.database.database import Database
from vixio.data.database.link import Operation, Rejected, Unavailable
from vixio.data.memory.records import Remembered
from vixio.data.memory.repository import MemoryRepository, on_memory

if TYPE_CHECKING:
    from vixio.data.memory.memory import Memory

_log = logging.getLogger(__name__)

MAX_SUMMARY_CHARS = 2_000

MIN_PENDING = 20
"""Turns that may wait to be saved, unless the history holds more."""


@dataclass(eq=False)
class _Step:
    """One operation of the store. ``turn``: the turn that it saves; ``begun``: it is under way."""

    operation: Operation[Database, Any]
    done: Callable[[Any], None]
    turn: Turn | None = None
    begun: bool = False


class DeviceMemory:
    """Keeps the store in step with a history; it is the history's listener.

    Operations of the store run in order, one after the other, so that a device that reconnects gets
    the turns of its last session, even if they are still being written.
    """

    def __init__(self, memory: Memory, key: str, history: History) -> None:
        self._memory = memory
        self.key = key
        self._history = history
        self._steps: deque[_Step] = deque()
        self._draining: asyncio.Task[None] | None = None
        self._folding: asyncio.Task[None] | None = None
        self._loaded = asyncio.Event()
        self._in_store = 0
        """Items of turns in the store when all steps are done."""
        self._epoch = 0
        """Counts how often turns were replaced from outside, which makes a summary obsolete."""
        history.listener = self
        history.recall = self.recall

    @property
    def tasks(self) -> Sequence[asyncio.Task[None]]:
        """The running tasks of this device."""
        return [task for task in (self._draining, self._folding) if task is not None]

    @property
    def writing(self) -> asyncio.Task[None] | None:
        """The task that writes into the store; it ends when everything is written."""
        return self._draining

    @property
    def idle(self) -> bool:
        """Whether nothing is left to do."""
        return not self._steps and not self.tasks

    @property
    def pending(self) -> int:
        """The number of turns that wait to be saved."""
        return sum(step.turn is not None for step in self._steps)

    def connected(self, former: str = "") -> None:
        """Load the history: another process may have written or erased it.

        ``former``: an older key of the device, whose records are moved to its present one.
        """
        self._loaded.clear()

        async def load(store: MemoryRepository) -> Remembered:
            if former:
                await store.move(former, self.key)
            return await store.load(self.key)

        self._add(_Step(on_memory(load), self._take))

    async def recall(self) -> None:
        """Wait for the earlier turns: for a limited time, and not for an unavailable store."""
        if not self._loaded.is_set():
            await self._memory.wait_for(self._loaded)
            self._loaded.set()  # if they come later, the following turns have them

    def stop(self) -> None:
        """Cancel the running tasks."""
        for task in self.tasks:
            task.cancel()

    # ── the history's listener ───────────────────────────────────────────────────────────────

    def turn_closed(self, turn: Turn) -> None:
        """Save the turn; summarise the history if it is due."""
        known = self._in_store > 0
        self._in_store += len(turn.items)
        kept = self._kept()
        trim = kept if self._in_store > kept and self._folding is None else 0
        if trim:
            self._in_store = trim
        items = tuple(turn.items)

        def save(store: MemoryRepository) -> Awaitable[bool]:
            return store.save_turn(self.key, items, keep=trim, known=known)

        def saved(as_known: bool) -> None:
            turn.stored = True
            self._memory.count("saved")
            if not as_known:
                self._erased(turn)

        if self.pending >= max(self._history.max_turns, MIN_PENDING):
            self._lose_oldest()
        self._add(_Step(on_memory(save), saved, turn))
        self._sum_up()

    def turn_forgotten(self, turn: Turn) -> None:
        """Remove a turn, whether it still waits to be saved or is in the store already."""
        self._in_store = max(0, self._in_store - len(turn.items))
        for step in self._steps:
            if step.turn is turn and not step.begun:
                self._steps.remove(step)
                return
        count = len(turn.items)
        self._add(_Step(on_memory(lambda store: store.unsave_turn(self.key, count)), _nothing))

    # ── the steps ────────────────────────────────────────────────────────────────────────────

    def _add(self, step: _Step) -> None:
        self._steps.append(step)
        if self._draining is None:
            self._draining = self._memory.spawn(self._drain(), writes=True)

    async def _drain(self) -> None:
        link = self._memory.link
        try:
            while self._steps:
                step = self._steps[0]
                step.begun = True
                try:
                    result = await link.call(step.operation)
                except Unavailable:
                    self._memory.count("failed")
                    self._loaded.set()  # turns do not wait for it
                    await link.usable()
                    continue
                except Rejected:
                    self._memory.count("rejected")
                    self._loaded.set()
                    if self._steps and self._steps[0] is step:
                        self._steps.popleft()
                    continue
                if self._steps and self._steps[0] is step:
                    self._steps.popleft()
                step.done(result)
        finally:
            self._draining = None
            self._memory.settled(self)

    def _lose_oldest(self) -> None:
        """Drop the oldest turn that waits to be saved, which bounds the memory that it takes."""
        for step in self._steps:
            if step.turn is not None and step.operation.running is None:
                self._steps.remove(step)
                self._memory.count("lost")
                return

    def _take(self, remembered: Remembered) -> None:
        self._in_store = sum(map(len, remembered.turns))
        if self._steps:  # turns since then
            waiting = (step.turn for step in self._steps if step.turn is not None)
            self._in_store += sum(len(turn.items) for turn in waiting)
        self._epoch += 1
        self._history.restore(remembered.turns, remembered.summary)
        self._memory.count("loaded")
        self._loaded.set()

    def _erased(self, turn: Turn) -> None:
        """The device was erased in the store from outside: drop everything before ``turn``."""
        self._epoch += 1
        later = self._history.turns
        older = later[: later.index(turn)] if turn in later else ()
        self._history.fold(older, "")
        self._in_store = self._kept()
        self._memory.count("erased")

    def _kept(self) -> int:
        return sum(len(turn.items) for turn in self._history.turns if turn.closed)

    # ── the summary ──────────────────────────────────────────────────────────────────────────

    def _sum_up(self) -> None:
        if self._memory.summarise is None or self._folding is not None:
            return
        if turns := self._history.to_fold():
            self._folding = self._memory.spawn(self._fold(turns))

    async def _fold(self, turns: Sequence[Turn]) -> None:
        epoch = self._epoch
        try:
            items = [item for turn in turns for item in turn.items]
            summary = await self._memory.sum_up(self._history.summary, items)
            if not summary or epoch != self._epoch:
                return
            summary = summary[:MAX_SUMMARY_CHARS]
            self._history.fold(turns, summary)
            self._in_store = kept = self._kept()

            def save(store: MemoryRepository) -> Awaitable[None]:
                return store.save_summary(self.key, summary, keep=kept)

            self._add(_Step(on_memory(save), _nothing))
            _log.debug("conversation summarised", extra={"turns": len(turns)})
        finally:
            self._folding = None
            self._memory.settled(self)


def _nothing(result: object) -> None:
    """Do nothing after the operation."""

"""One watcher's way through the stream."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from vixio.core.clock import now
from vixio.web.feed.content import CHANGES
from vixio.web.feed.entry import Entry
from vixio.web.feed.log import EventLog
from vixio.web.feed.position import Position, dump

BATCH: Final = 100
"""Entries that a watcher is given at a time."""

PAUSE_S: Final = 0.05
"""From one batch to the next: an entry on its own is given at once, a burst as one batch. Writing a
batch to the socket costs ten times what an entry in it does."""


class Seen(NamedTuple):
    """An entry, and the id to go on after it."""

    entry: Entry
    id: str


class Batch(NamedTuple):
    """What has happened. ``missed``: something before it, or within it, is lost. ``id``: to go on
    after it."""

    seen: Sequence[Seen]
    missed: bool
    id: str


class Watch:
    """``place``: in the log. ``position``: what its reader knows. ``past``: what it is given before
    the log, with ``missed`` as in Batch. ``left`` is called at the end."""

    def __init__(
        self,
        log: EventLog,
        place: int,
        position: Position,
        past: Sequence[Entry],
        left: Callable[[], None],
        *,
        missed: bool,
    ) -> None:
        self._log = log
        self._place = place
        self._position = position
        self._first: Batch | None = self._given(past, missed=missed)
        self._left: Callable[[], None] | None = left
        self._next_at = 0.0
        """Before this time of the loop only a full batch is given."""

    async def next(self, seconds: float) -> Batch | None:
        """Return what has happened since; nothing at all after ``seconds``. None: the stream ends.

        The first batch comes at once, each other one :data:`PAUSE_S` after the one before.
        """
        if self._first is not None:
            first, self._first = self._first, None
            return first
        log = self._log
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._place >= log.end and not log.closed:
                    await log.grown.wait()
        pause = self._next_at - now()
        if pause > 0 and log.end - self._place < BATCH:
            await asyncio.sleep(pause)
        self._next_at = now() + PAUSE_S
        return None if log.closed else self._take()

    def close(self) -> None:
        """End it. Idempotent."""
        left, self._left = self._left, None
        if left is not None:
            left()

    def _take(self) -> Batch:
        log = self._log
        read = log.read(self._place, BATCH)
        self._place = max(self._place, log.start) + len(read)
        return self._given(read)

    def _given(self, entries: Sequence[Entry], *, missed: bool = False) -> Batch:
        """Return those of the entries that the reader does not know; now it does."""
        seen = []
        for entry in entries:
            last = self._position.get(entry.source)
            if last is not None and entry.number <= last:
                continue
            # The audit trail is read whole, and a process that is new here began with this entry.
            gap = last is not None and entry.number > last + 1 and entry.source != CHANGES
            missed = missed or gap
            self._position[entry.source] = entry.number
            seen.append(Seen(entry, dump(self._position)))
        return Batch(seen, missed, dump(self._position))

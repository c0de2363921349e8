"""The last entries of all processes, in the order in which they came here."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Final

from vixio.core.clock import now
from vixio.core.waiters import Waiters
from vixio.web.feed.entry import Entry

MAX_ENTRIES: Final = 2_000
"""About two hundred turns."""

KEPT_S: Final = 300.0
"""Older entries are dropped: they hold the words of users."""

MAX_SOURCES: Final = 100
"""Processes of which the number of the newest entry is known."""


class EventLog:
    """Bounded. Readers have a place in it each, so a slow one costs nothing but what it misses.

    ``clock``: seconds, that of the loop.
    """

    def __init__(self, size: int = MAX_ENTRIES, clock: Callable[[], float] = now) -> None:
        self._size = size
        self._clock = clock
        self._entries: deque[tuple[float, Entry]] = deque()
        self._tidying: asyncio.TimerHandle | None = None
        self.start = 0
        """The place of the oldest entry."""
        self.heads: dict[str, int] = {}
        """The number of the newest entry of each source."""
        self._floors: dict[str, int] = {}
        """The number up to which there are gaps."""
        self.grown = Waiters()
        """Woken by each new entry, and by the end."""
        self.closed = False

    @property
    def end(self) -> int:
        """The place of the next entry."""
        return self.start + len(self._entries)

    def append(self, entry: Entry) -> None:
        """Add the newest entry."""
        if len(self._entries) >= self._size:
            self._drop()
        self._entries.append((self._clock(), entry))
        before = self.heads.pop(entry.source, None)  # to its end: who is silent goes first
        if before is None or entry.number > before + 1:
            self.skip(entry.source, entry.number - 1)
        self.heads[entry.source] = entry.number
        if self._tidying is None:
            self._tidying = asyncio.get_running_loop().call_later(KEPT_S, self._tidy)
        self.grown.wake()

    def skip(self, source: str, number: int) -> None:
        """Note that entries up to this one are lost, or are none."""
        self.heads[source] = self._floors[source] = number
        while len(self.heads) > MAX_SOURCES:
            oldest = next(iter(self.heads))
            del self.heads[oldest]
            self._floors.pop(oldest, None)

    def read(self, place: int, limit: int) -> list[Entry]:
        """Return ``limit`` entries from a place on, or from the oldest if that is gone."""
        begin = max(0, place - self.start)
        return [entry for _, entry in islice(self._entries, begin, begin + limit)]

    def before(self, source: str) -> int:
        """Return the number after which all entries of a source are here."""
        numbers = (each.number for _, each in self._entries if each.source == source)
        oldest = next(numbers, self.heads[source] + 1)
        return max(oldest - 1, self._floors.get(source, 0))

    def close(self) -> None:
        """Forget everything, and end all watches. Idempotent."""
        self.closed = True
        if self._tidying is not None:
            self._tidying.cancel()
        self.start = self.end
        self._entries.clear()
        self.grown.wake()

    def _tidy(self) -> None:
        """Drop what is old, and come back when the oldest entry will be."""
        self._tidying = None
        while self._entries and self._entries[0][0] <= self._clock() - KEPT_S:
            self._drop()
        if self._entries:
            left = self._entries[0][0] + KEPT_S - self._clock()
            self._tidying = asyncio.get_running_loop().call_later(left, self._tidy)

    def _drop(self) -> None:
        self._entries.popleft()
        self.start += 1

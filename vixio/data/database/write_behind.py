"""Writing behind: what happens is noted at once, and written a moment later, in one transaction.

While the database is away it is kept, within the bounds of whoever notes, and written when it is
back.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, Generic, TypeVar

from vixio.core.log_fields import shared_context
from vixio.core.tasks import cancel_and_wait
from vixio.data.database.database import Database
from vixio.data.database.link import Link, Operation, Rejected, Unavailable

GATHER_S: Final = 0.5
"""So long more is waited for: a storm of connects is a few transactions."""

CAUGHT_UP_S: Final = 1.0
"""How long a reader waits for what was noted before it asked."""

FLUSH_S: Final = 3.0
"""How long the end of the server waits for what is not written."""

B = TypeVar("B")
T = TypeVar("T")


class WriteBehind(Generic[B, T]):
    """Batches of a kind that is false when it is empty.

    ``empty`` makes one, ``write`` writes one in the database's thread, ``written`` receives its
    result. Add to :attr:`batch` and call :meth:`touch`.

    A batch that the database does not take is written again entry by entry, as ``singly`` divides
    it; an entry that it does not take is dropped, and ``dropped`` is called with it.
    """

    def __init__(
        self,
        link: Link[Database],
        empty: Callable[[], B],
        write: Callable[[B, Database], Awaitable[T]],
        singly: Callable[[B], Iterable[B]],
        dropped: Callable[[B], None],
        written: Callable[[T], None] = lambda _result: None,
    ) -> None:
        self._link = link
        self._empty = empty
        self._write = write
        self._singly = singly
        self._dropped = dropped
        self._written = written
        self.batch: B = empty()
        """What waits."""
        self.writing: B = empty()
        """What is under way."""
        self._entries: deque[B] = deque()
        self._operation: Operation[Database, T] | None = None
        self._task: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()
        self._readers: list[asyncio.Future[None]] = []

    @property
    def unwritten(self) -> Sequence[B]:
        """All that is not written, the oldest first."""
        return [self.writing, *self._entries, self.batch]

    def touch(self) -> None:
        """Have the batch written soon."""
        if self._task is None:
            loop = asyncio.get_running_loop()
            self._task = loop.create_task(self._run(), context=shared_context())

    async def caught_up(self) -> None:
        """Have what is noted by now written before the caller reads it; wait for that a moment."""
        if self._task is None:
            return
        reader = asyncio.get_running_loop().create_future()
        self._readers.append(reader)
        self._hurry.set()
        await asyncio.wait({reader}, timeout=CAUGHT_UP_S)

    async def close(self) -> bool:
        """Write what is left, for a bounded time; return false if something was lost. Idempotent.

        What is under way is waited for, not begun anew: it may add to what is there.
        """
        task, self._task = self._task, None
        await cancel_and_wait(task)
        try:
            async with asyncio.timeout(FLUSH_S):
                if self._operation is not None:
                    await self._finish()
                while self._entries or self.batch:
                    await self._next()
        except (Unavailable, TimeoutError):
            return False
        return True

    async def _run(self) -> None:
        """Write until nothing waits; there is no task in quiet times."""
        while self.batch:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), GATHER_S)
            self._hurry.clear()
            readers, self._readers = self._readers, []
            await self._whole(self._next)
            while self._entries:
                await self._whole(self._next)
            _release(readers)
        self._task = None
        _release(self._readers)  # they came while the last batch was under way
        self._readers = []

    async def _whole(self, do: Callable[[], Awaitable[None]]) -> None:
        """Do it, and wait for a database that is away to finish it."""
        while True:
            try:
                return await do()
            except Unavailable:
                await self._link.usable()
                do = self._finish

    async def _next(self) -> None:
        if self._entries:
            self.writing = self._entries.popleft()
        else:
            self.writing, self.batch = self.batch, self._empty()
        self._operation = Operation(partial(self._write, self.writing))
        await self._finish()

    async def _finish(self) -> None:
        assert self._operation is not None  # noqa: S101 - the caller has looked
        try:
            result = await self._link.call(self._operation)
        except Rejected:
            written, self.writing, self._operation = self.writing, self._empty(), None
            entries = list(self._singly(written))
            if len(entries) > 1:
                self._entries.extendleft(reversed(entries))
            else:
                self._dropped(written)
            return
        self._operation, self.writing = None, self._empty()
        self._written(result)


def _release(readers: list[asyncio.Future[None]]) -> None:
    for reader in readers:
        if not reader.done():
            reader.set_result(None)

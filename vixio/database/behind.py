"""Writing behind: what happens is noted at once, and written a moment later, in one transaction.

While the database is away it is kept, within the bounds of whoever notes, and written when it is
back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, Generic, TypeVar

from vixio.core.log_fields import shared_context
from vixio.core.tasks import cancel_and_wait
from vixio.database.database import Database
from vixio.database.link import Link, Operation, Unavailable

GATHER_S: Final = 0.5
"""So long more is waited for: a storm of connects is a few transactions."""

FLUSH_S: Final = 3.0
"""How long the end of the server waits for what is not written."""

B = TypeVar("B")
T = TypeVar("T")


class WriteBehind(Generic[B, T]):
    """Batches of a kind that is false when it is empty.

    ``empty`` makes one, ``write`` writes one in the database's thread, ``written`` receives its
    result. Add to :attr:`batch` and call :meth:`touch`.
    """

    def __init__(
        self,
        link: Link[Database],
        empty: Callable[[], B],
        write: Callable[[B, Database], Awaitable[T]],
        written: Callable[[T], None] = lambda _result: None,
    ) -> None:
        self._link = link
        self._empty = empty
        self._write = write
        self._written = written
        self.batch: B = empty()
        """What waits."""
        self.writing: B = empty()
        """What is under way."""
        self._operation: Operation[Database, T] | None = None
        self._task: asyncio.Task[None] | None = None

    def touch(self) -> None:
        """Have the batch written soon."""
        if self._task is None:
            loop = asyncio.get_running_loop()
            self._task = loop.create_task(self._run(), context=shared_context())

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
                if self.batch:
                    await self._next()
        except (Unavailable, TimeoutError):
            return False
        return True

    async def _run(self) -> None:
        """Write until nothing waits; there is no task in quiet times."""
        while self.batch:
            await asyncio.sleep(GATHER_S)
            try:
                await self._next()
            except Unavailable:
                await self._again()
        self._task = None

    async def _again(self) -> None:
        while self._operation is not None:
            await self._link.usable()
            try:
                await self._finish()
            except Unavailable:
                continue

    async def _next(self) -> None:
        self.writing, self.batch = self.batch, self._empty()
        self._operation = Operation(partial(self._write, self.writing))
        await self._finish()

    async def _finish(self) -> None:
        assert self._operation is not None  # noqa: S101 - the caller has looked
        result = await self._link.call(self._operation)
        self._operation, self.writing = None, self._empty()
        self._written(result)

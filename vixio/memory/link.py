"""The way to the store: a thread with an event loop of its own, and what is known of its health.

Stores run there because they may block: the SDK takes a second to import, opens files as it is
constructed, and waits for a transaction even if it is cancelled. A store that hangs can so delay
neither a conversation nor the end of the process.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Generic, TypeVar

from loguru import logger

from vixio.core.clock import now
from vixio.core.errors import VixioError
from vixio.memory.store import MemoryStore, StoreFailed

T = TypeVar("T")

FIRST_PAUSE_S = 2.0
LONGEST_PAUSE_S = 60.0
"""How long a store that failed is left alone; doubled each time."""

AT_ONCE = 4
"""Works that run in the store at the same time."""


class StoreDown(Exception):
    """The store cannot be used just now."""


class Work(Generic[T]):
    """Something to do in the store, once: it can be waited for again after it took too long."""

    def __init__(self, do: Callable[[MemoryStore], Awaitable[T]]) -> None:
        self.do = do
        self.running: asyncio.Future[T] | None = None


class StoreLink:
    """Opens the store when it is first used, and again after it failed.

    ``make`` makes the store, in its own thread, since that may import a database driver.
    ``timeout``: seconds for one work; ``open_timeout``: for opening, which imports the SDK.
    ``quiet``: who calls tells people itself what does not work.
    """

    def __init__(
        self,
        make: Callable[[], MemoryStore],
        *,
        timeout: float = 6.0,
        open_timeout: float = 60.0,
        quiet: bool = False,
    ) -> None:
        self._make = make
        self._timeout = timeout
        self._open_timeout = open_timeout
        self._store: MemoryStore | None = None
        self._opening: Work[None] | None = None
        self._is_open = self._was_open = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._down_until = 0.0
        self._pause = 0.0
        self._quiet = quiet
        self._told = False

    @property
    def healthy(self) -> bool:
        """Has it not failed lately?"""
        return not self._pause

    async def call(self, work: Work[T]) -> T:
        """Do ``work``. Raises StoreDown, at once while the store is left alone.

        A work that took too long goes on; calling with it again waits for that same one.
        """
        if now() < self._down_until:
            raise StoreDown
        async with self._slots:
            if now() < self._down_until:
                raise StoreDown
            try:
                await self._open()
                result = await self._run(work, self._timeout)
            except Exception as error:  # reason: a database raises anything
                self._failed(error)
                raise StoreDown from error
        self._works()
        return result

    async def usable(self) -> None:
        """Wait until the store may be tried again."""
        await asyncio.sleep(max(0.0, self._down_until - now()))

    async def close(self, timeout: float = 2.0) -> None:
        """Close the store and end its thread; leave it behind if it does not end in time."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        if self._store is not None:
            with suppress(Exception):  # it is being left; whatever it has to say comes too late
                await self._run(Work(lambda store: store.close()), timeout)
        loop.call_soon_threadsafe(loop.stop)
        await asyncio.to_thread(thread.join, timeout)
        self._loop = self._thread = None

    async def _open(self) -> None:
        if self._is_open:
            return
        if self._opening is None:

            async def open_it(store: MemoryStore) -> None:
                await store.open()

            self._opening = Work(open_it)
        opening = self._opening
        try:
            await self._run(opening, self._timeout if self._was_open else self._open_timeout)
        finally:
            if opening.running is None and self._opening is opening:
                self._opening = None
        self._is_open = self._was_open = True

    async def _run(self, work: Work[T], timeout: float) -> T:
        if work.running is None:
            work.running = asyncio.wrap_future(self._submit(work.do))
            work.running.add_done_callback(_taken_note_of)
        running = work.running
        # Shielded: who waits may be cancelled, but what runs is not to be cut in the middle.
        await asyncio.wait([running], timeout=timeout)
        if not running.done():
            raise StoreFailed(f"no answer within {timeout:g} s")
        work.running = None
        return running.result()

    def _submit(self, do: Callable[[MemoryStore], Awaitable[T]]) -> Future[T]:
        async def there() -> T:
            if self._store is None:
                self._store = self._make()
            return await do(self._store)

        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(
                target=_live, args=(self._loop,), name="vixio-memory", daemon=True
            )
            self._thread.start()
        return asyncio.run_coroutine_threadsafe(there(), self._loop)

    def _failed(self, error: Exception) -> None:
        self._is_open = False  # what is wrong with it may need it to be opened anew
        self._pause = min(max(FIRST_PAUSE_S, 2 * self._pause), LONGEST_PAUSE_S)
        self._down_until = now() + self._pause
        if not self._told and not self._quiet:
            self._told = True
            logger.bind(reason=describe(error)).warning(
                "memory does not work: conversations are kept until the server stops"
            )

    def _works(self) -> None:
        self._pause = 0.0
        if self._told:
            self._told = False
            logger.info("memory works again")


def _taken_note_of(done: asyncio.Future[Any]) -> None:
    """Look at the outcome of a work that nobody may be waiting for any more."""
    if not done.cancelled():
        done.exception()


def describe(error: BaseException) -> str:
    """Return one line on what happened, without anything that a user said."""
    if isinstance(error, VixioError):
        return str(error)
    # SQLAlchemy shows the statement in the lines behind the first; drivers say less than others.
    first = str(error).splitlines()[0][:200] if str(error) else ""
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def _live(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    # One thread for the files: SQLite lets one write at a time anyway.
    executor = ThreadPoolExecutor(1, "vixio-memory-disk")
    loop.set_default_executor(executor)
    try:
        loop.run_forever()
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=1.0))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        loop.close()

"""Runs a database in a thread with an event loop of its own, and backs off when it fails.

A database may block its thread: SQLite while it reads and writes its file, others while they import
a driver. In a thread of its own, a hanging database delays neither a conversation nor the end of
the process.

It has failed where its connection, its file or the time says so. Any other error is an answer to
who asked: a value that it does not take, a mistake of ours. Nobody else notices that.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final, Generic, Protocol, TypeVar

from vixio.core.backoff import Backoff
from vixio.core.clock import now
from vixio.core.errors import VixioError


class Trouble(Enum):
    """What an error of a database says."""

    OUTAGE = auto()
    """It cannot be used: its connection, its file or its server fails."""
    FULL = auto()
    """It writes nothing more, and reads as before: a disk is full."""
    DATA = auto()
    """It works, and does not take what it was given."""


class Resource(Protocol):
    """What is opened and closed in the thread. Either may raise anything."""

    async def open(self) -> None:
        """Connect. May be called again after a failure."""
        ...

    async def close(self) -> None:
        """Disconnect. Idempotent."""
        ...

    def trouble(self, error: Exception) -> Trouble:
        """Return what an error of its driver says; of others, :class:`Link` knows it."""
        ...


R = TypeVar("R", bound=Resource)
T = TypeVar("T")

_log = logging.getLogger(__name__)

RETRIES = Backoff(first=2.0, longest=5.0)
"""Pauses before a database that failed is used again: short, since one more try costs nothing."""

FULL_S: Final = 2.0
"""After this, a database that was full is written to again."""

AT_ONCE = 4
"""Operations that run at the same time."""


class Unavailable(Exception):
    """The database cannot be used at the moment. The cause is the failure."""


class Rejected(Exception):
    """The database works, and does not take this: the same again fails again.

    The cause is the error: of a value, or of our code.
    """


class Failed(VixioError):
    """It cannot be used. The message is one line with the reason and the remedy."""


class NoAnswer(Failed):
    """An operation took too long."""


@dataclass(frozen=True, slots=True)
class Reports:
    """Lines for the log: that the database fails (a field has the reason), and works again."""

    failed: str
    works: str


class Operation(Generic[R, T]):
    """An operation of a database. After a timeout the same one can be awaited again.

    ``refusals``: errors of ``do`` that are answers, after which the database works as before.
    """

    def __init__(
        self, do: Callable[[R], Awaitable[T]], refusals: tuple[type[Exception], ...] = ()
    ) -> None:
        self.do = do
        self.refusals = refusals
        self.running: asyncio.Future[T] | None = None


class Link(Generic[R]):
    """Opens a database at its first use, and again after a failure.

    ``make`` makes it; it is called in the thread, since it may import a driver. ``timeout``:
    seconds for one operation; ``open_timeout``: for opening, which may import much. ``reports``
    None: log nothing, the caller reports failures itself. ``name``: of the thread.
    """

    def __init__(
        self,
        make: Callable[[], R],
        *,
        name: str,
        reports: Reports | None = None,
        timeout: float = 6.0,
        open_timeout: float = 60.0,
    ) -> None:
        self._make = make
        self._timeout = timeout
        self._open_timeout = open_timeout
        self._resource: R | None = None
        self._opening: Operation[R, None] | None = None
        self._is_open = self._was_open = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._down_until = self._failed_at = self._full_until = 0.0
        self._failures = 0
        self._name = name
        self._reports = reports
        self._reported = False

    @property
    def healthy(self) -> bool:
        """Whether the last operation succeeded."""
        return not self._failures

    async def call(self, operation: Operation[R, T]) -> T:
        """Run ``operation``. Raises Unavailable, at once during a pause after a failure; Rejected;
        and the refusals of the operation.

        An operation that timed out goes on; calling with it again waits for it.
        """
        if now() < self._down_until:
            raise Unavailable
        async with self._slots:
            if now() < self._down_until:
                raise Unavailable
            known = self._failed_at
            try:
                await self._open()
            except Exception as error:  # reason: a database raises anything
                self._failed(error)
                raise Unavailable from error
            try:
                result = await self._run(operation, self._timeout)
            except Exception as error:  # reason: likewise
                if isinstance(error, operation.refusals):
                    self._answered(known)
                    raise
                match self._trouble(error):
                    case Trouble.DATA:
                        self._answered(known)
                        self._rejected(error)
                        raise Rejected from error
                    case Trouble.FULL:
                        self._full(error)
                    case Trouble.OUTAGE:
                        self._failed(error)
                raise Unavailable from error
        self._answered(known)
        return result

    async def usable(self) -> None:
        """Wait until the database may be used again, or written to again."""
        await asyncio.sleep(max(0.0, max(self._down_until, self._full_until) - now()))

    async def close(self, timeout: float = 2.0) -> None:
        """Close the database and end its thread. A thread that does not end is abandoned."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        if self._resource is not None:
            with suppress(Exception):  # an error of a database that is given up changes nothing
                await self._run(Operation(_close), timeout)
        loop.call_soon_threadsafe(loop.stop)
        await asyncio.to_thread(thread.join, timeout)
        self._loop = self._thread = None

    async def _open(self) -> None:
        if self._is_open:
            return
        if self._opening is None:
            self._opening = Operation(_open)
        opening = self._opening
        try:
            await self._run(opening, self._timeout if self._was_open else self._open_timeout)
        finally:
            if opening.running is None and self._opening is opening:
                self._opening = None
        self._is_open = self._was_open = True

    async def _run(self, operation: Operation[R, T], timeout: float) -> T:
        if operation.running is None:
            operation.running = asyncio.wrap_future(self._submit(operation.do))
            operation.running.add_done_callback(_retrieve)
        running = operation.running
        # The caller may be cancelled; the operation must not be cut in the middle.
        await asyncio.wait([running], timeout=timeout)
        if not running.done():
            raise NoAnswer(f"no answer within {timeout:g} s")
        operation.running = None
        return running.result()

    def _submit(self, do: Callable[[R], Awaitable[T]]) -> Future[T]:
        async def there() -> T:
            if self._resource is None:
                self._resource = self._make()
            return await do(self._resource)

        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(
                target=_live, args=(self._loop,), name=self._name, daemon=True
            )
            self._thread.start()
        return asyncio.run_coroutine_threadsafe(there(), self._loop)

    def _trouble(self, error: Exception) -> Trouble:
        match error:
            case OSError():
                full = error.errno in (errno.ENOSPC, errno.EDQUOT)
                return Trouble.FULL if full else Trouble.OUTAGE
            case Failed():  # no answer, or it could not be opened again
                return Trouble.OUTAGE
            case _:
                assert self._resource is not None  # noqa: S101 - it was opened
                return self._resource.trouble(error)

    def _rejected(self, error: Exception) -> None:
        fields = {"database": self._name, "error": type(error).__name__}
        _log.warning("not taken by the database", extra=fields)  # its message may be private
        _log.debug("not taken by the database", exc_info=error)

    def _full(self, error: Exception) -> None:
        """Take note that nothing can be written: who reads is not kept waiting."""
        self._full_until = now() + FULL_S
        self._report(error)

    def _failed(self, error: Exception) -> None:
        self._is_open = False  # it may have to be opened again to recover
        self._failures += 1
        self._failed_at = now()
        self._down_until = self._failed_at + RETRIES.delay(self._failures)
        self._report(error)

    def _report(self, error: Exception) -> None:
        if not self._reported and self._reports is not None:
            self._reported = True
            _log.warning(self._reports.failed, extra={"reason": describe(error)})

    def _answered(self, failed_at: float) -> None:
        if failed_at != self._failed_at:
            return  # what began before a failure does not say that it is over
        self._failures = 0
        if now() < self._full_until + FULL_S:
            return  # what is read does not say that it can be written; who writes tries again
        if self._reported and self._reports is not None:
            self._reported = False
            _log.info(self._reports.works)


async def _open(resource: Resource) -> None:
    await resource.open()


async def _close(resource: Resource) -> None:
    await resource.close()


def _retrieve(done: asyncio.Future[Any]) -> None:
    """Retrieve the outcome of an operation that may have no waiter any more."""
    if not done.cancelled():
        done.exception()


def describe(error: BaseException) -> str:
    """Return one line about an error, without the words of a user."""
    if isinstance(error, VixioError):
        return str(error)
    # Further lines may show a statement with its values.
    first = str(error).splitlines()[0][:200] if str(error) else ""
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def _live(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=1.0))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()

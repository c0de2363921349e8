"""A thread that runs a model for all devices of an event loop.

The loop submits items, the thread takes all that have come in. Models cannot be interrupted in a
call of their library: :meth:`InferenceThread.stop` takes effect after it.
"""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

from vixio.core.errors import as_provider_error

JOIN_SECONDS: Final = 20.0
"""After which a thread that is still in a call is left to end with the process."""

ItemT = TypeVar("ItemT", bound=Hashable)
ResultT = TypeVar("ResultT")


class InferenceThread(ABC, Generic[ItemT]):
    """The thread. Its public methods are called on the event loop.

    It starts at once: a subclass sets its own state before it calls ``super().__init__``.
    """

    def __init__(self, name: str) -> None:
        self._changed = threading.Condition()
        self._incoming: dict[ItemT, None] = {}
        """In the order in which they came; guarded by ``_changed``, as is ``_stopping``."""
        self._stopping = False
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    def submit(self, item: ItemT) -> None:
        """Hand ``item`` to the thread; an item that still waits there keeps its place."""
        with self._changed:
            self._incoming[item] = None
            self._changed.notify()

    def stop(self) -> None:
        """Make the thread end after the call that is under way. What waits is left as it is."""
        with self._changed:
            self._stopping = True
            self._changed.notify()

    async def join(self, seconds: float | None = JOIN_SECONDS) -> None:
        """Wait until the thread has ended, or so long."""
        await asyncio.to_thread(self._thread.join, seconds)

    @property
    def stopping(self) -> bool:
        """Whether :meth:`stop` was called."""
        return self._stopping

    def take(self, *, block: bool = True) -> list[ItemT] | None:
        """Return in the thread what has come in, None to end; ``block``: wait for something."""
        with self._changed:
            while block and not self._incoming and not self._stopping:
                self._changed.wait()
            incoming, self._incoming = self._incoming, {}
            return None if self._stopping else list(incoming)

    @abstractmethod
    def _serve(self) -> None:
        """Work in the thread until :meth:`take` returns None."""


def settle(
    future: asyncio.Future[ResultT], outcome: ResultT | Exception, provider: str, what: str
) -> None:
    """Resolve ``future`` on the loop with a result or an error, unless it is done already.

    ``provider`` and ``what`` failed describe an error that is none of ours.
    """
    if future.done():
        return
    if isinstance(outcome, Exception):
        future.set_exception(as_provider_error(provider, outcome, what))
    else:
        future.set_result(outcome)

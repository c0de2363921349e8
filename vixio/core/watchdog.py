"""A bound for awaits that follow one another quickly.

``asyncio.timeout`` makes a timer for each await and cancels it, which for a device's every packet
is a fifth of what the event loop does for it. Here one timer is left to run, and set anew when it
goes off and what it was set for is long over.
"""

from __future__ import annotations

import asyncio
import math
from types import TracebackType


class Watchdog:
    """Use as ``with watchdog.until(deadline):`` around an await, for one task at a time.

    Raises TimeoutError, as ``asyncio.timeout_at`` does, when the await is not over at ``deadline``
    (a reading of the loop's clock).
    """

    __slots__ = ("_cancelling", "_deadline", "_expired", "_task", "_timer")

    def __init__(self) -> None:
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[object] | None = None
        self._deadline = 0.0
        self._cancelling = 0
        self._expired = False

    @property
    def expired(self) -> bool:
        """Whether the watchdog ended the last await: by its deadline or by :meth:`wake`."""
        return self._expired

    def until(self, deadline: float | None) -> Watchdog:
        """Set when the next await is over at the latest; None: never, but by :meth:`wake`."""
        if deadline is None:
            self._deadline = math.inf
            return self
        self._deadline = deadline
        timer = self._timer
        if timer is None or timer.when() > deadline:
            self.close()
            self._timer = asyncio.get_running_loop().call_at(deadline, self._look)
        return self

    def wake(self) -> None:
        """End the await that is going on, as its deadline would; without one, nothing happens."""
        if self._task is not None and not self._expired:
            self._expired = True
            self._task.cancel()

    def close(self) -> None:
        """Stop the timer. Idempotent."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def __enter__(self) -> None:
        task = asyncio.current_task()
        if task is None or self._task is not None:
            raise RuntimeError("a watchdog watches one task at a time")
        self._task = task
        self._cancelling = task.cancelling()
        self._expired = False

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        task, self._task = self._task, None
        if not self._expired or task is None:
            return
        # If the task was cancelled from elsewhere as well, the cancellation goes on.
        self._expired = task.uncancel() <= self._cancelling and kind is asyncio.CancelledError
        if self._expired:
            raise TimeoutError from error

    def _look(self) -> None:
        self._timer = None
        if self._task is None or self._expired or self._deadline == math.inf:
            return  # nothing to watch; the next await sets the timer
        loop = asyncio.get_running_loop()
        if loop.time() < self._deadline:
            self._timer = loop.call_at(self._deadline, self._look)
        else:
            self._expired = True
            self._task.cancel()

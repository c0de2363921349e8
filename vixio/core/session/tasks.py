"""The tasks of one session: started in one group, ended together."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from vixio.core.errors import ConnectionClosed
from vixio.core.metrics import Counters

_log = logging.getLogger(__name__)


class SessionTasks:
    """A task group in which a defect costs one task, not the conversation."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._group: asyncio.TaskGroup | None = None

    async def run(self, main: Callable[[], Awaitable[None]]) -> None:
        """Run ``main``; when it returns, all other tasks are cancelled and awaited."""
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                await main()
                raise _MainOver
        except* _MainOver:
            pass
        finally:
            self._group = None

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run ``work`` beside ``main``; closed unstarted when the session is ending."""
        if self._group is None:
            work.close()
            return
        guarded = self._guard(work)
        try:
            task = self._group.create_task(guarded)
        except RuntimeError:  # the group is ending
            guarded.close()
            work.close()
        else:
            # A task that is cancelled before its first step has not awaited the work.
            task.add_done_callback(lambda _: work.close())

    async def _guard(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except* ConnectionClosed:
            pass  # the listening task sees it too, and ends the session
        except* Exception:  # noqa: BLE001 - a defect must cost one turn, not the conversation
            self._counters.add("session.defect")
            _log.exception("session task failed")


class _MainOver(Exception):
    """Ends the task group: what still runs in it is cancelled."""

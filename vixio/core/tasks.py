"""Ends tasks, and lets what must not be cut short come to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def cancel_and_wait(*tasks: asyncio.Future[Any] | None) -> None:
    """Cancel tasks, and wait until they have ended, however they do.

    None stands for a task that has not begun. Returns without a turn of the loop if all are done.
    A second cancellation, of the caller, ends the waiting.
    """
    running = {task for task in tasks if task is not None and not task.done()}
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running)


async def undisturbed(work: Coroutine[Any, Any, T]) -> T:
    """Return what ``work`` gives; it comes to its end however often the caller is cancelled.

    The cancellation is raised when it has ended, instead of what it gave. For clean-up that is
    bounded: two limits of time that pass together cancel a caller twice, the second time while it
    cleans up.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None:
        return task.result()
    if not task.cancelled():
        task.exception()  # taken, or the loop would report it
    raise cancelled

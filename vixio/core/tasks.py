"""Ends tasks."""

from __future__ import annotations

import asyncio
from typing import Any


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

"""Waiting for what has no event of its own: a counter, an attribute, something behind a socket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


async def until(
    condition: Callable[[], object], *, what: str = "a condition", seconds: float = 30.0
) -> None:
    """Wait until ``condition()`` is true.

    Raises:
        TimeoutError: not within ``seconds``.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while not condition():
        if loop.time() > end:
            raise TimeoutError(f"waited {seconds:g} s for {what}")
        await asyncio.sleep(0.005)

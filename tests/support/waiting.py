"""Waiting for what has no event of its own: a counter, an attribute, something behind a socket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

SHORTEST_S = 0.002
LONGEST_S = 0.03
"""Between two looks. They grow with what has been waited for: many tests wait at the same time, and
each look costs what a packet does."""


async def until(
    condition: Callable[[], object], *, what: str = "a condition", seconds: float = 90.0
) -> None:
    """Wait until ``condition()`` is true.

    Raises:
        TimeoutError: not within ``seconds``.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    while not condition():
        waited = loop.time() - began
        if waited > seconds:
            raise TimeoutError(f"waited {seconds:g} s for {what}")
        await asyncio.sleep(min(max(SHORTEST_S, waited / 10), LONGEST_S))

"""How long an attack lasts: for its seconds, and until enough of it was done."""

from __future__ import annotations

import asyncio

from tests.chaos.outcome import Outcome

PATIENCE_S = 60.0
"""A machine that is busy with other things may take this long to get an attack going."""


class Spell:
    """Begins when it is made. ``least``: acts that make the attack one."""

    def __init__(self, outcome: Outcome, seconds: float, *, least: int = 1) -> None:
        self._outcome = outcome
        self._least = least
        now = asyncio.get_running_loop().time()
        self._end = now + seconds
        self._last = self._end + PATIENCE_S

    def lasts(self) -> bool:
        """Whether the attack goes on."""
        now = asyncio.get_running_loop().time()
        return now < self._end or (self._outcome.done < self._least and now < self._last)

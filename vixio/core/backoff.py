"""Delays between attempts: exponential back-off with jitter, used for every retry."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

_MAX_EXPONENT: Final = 32
"""Beyond it every delay is the longest one; a larger power would only overflow."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait before an attempt is repeated, in seconds."""

    first: float
    longest: float
    factor: float = 2.0
    immediate: int = 0
    """Attempts that follow a failure at once, before the first delay."""
    jitter: float = 0.2
    """Each delay is up to this fraction shorter or longer, so that many clients spread out."""

    def delay(self, failures: int) -> float:
        """Return the delay before the next attempt, after ``failures`` failures in a row."""
        step = failures - self.immediate - 1
        if step < 0:
            return 0.0
        delay = min(self.first * self.factor ** min(step, _MAX_EXPONENT), self.longest)
        return delay * random.uniform(1 - self.jitter, 1 + self.jitter)  # noqa: S311 - no secret

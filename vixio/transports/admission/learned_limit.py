"""How many devices this process can bear, learned from its overloads."""

from __future__ import annotations

from collections.abc import Callable

RETREAT = 0.95
"""Of those connected when the loop had too much to do, so many are allowed at first."""

DOUBLING_S = 1_200.0
STEP_S = 5.0
"""In calm the number grows so that it doubles in the first time, and by one more in each of the
second. An overload shows ten seconds late: 500 devices grow by six in that time. Were everybody
let in who waits at the door, the first calm moment would let in more than can be borne."""

OVER_S = 300.0
"""After so long without an overload everything is forgotten."""


class LearnedLimit:
    """``late_at``: when the loop was last late for long, of ``clock`` (seconds); None: never.
    ``count``: how many devices are connected.

    Additive increase and multiplicative decrease, as TCP finds its rate (RFC 5681).
    """

    def __init__(
        self,
        late_at: Callable[[], float | None],
        count: Callable[[], int],
        clock: Callable[[], float],
    ) -> None:
        self._late_at = late_at
        self._count = count
        self._clock = clock
        self._since: float | None = None
        self._base = 0.0

    @property
    def full(self) -> bool:
        """Are as many connected as are known to be borne, for now?"""
        late_at = self._late_at()
        if late_at is None:
            return False
        if late_at != self._since:
            self._since, self._base = late_at, RETREAT * self._count()
        calm = self._clock() - late_at
        allowed = self._base * (1 + calm / DOUBLING_S) + calm / STEP_S
        return calm < OVER_S and self._count() >= allowed

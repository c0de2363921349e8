"""When a provider that fails is left alone, and when it is tried again. Standard library only."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any, Literal

from vixio.core.errors import ProviderError, ProviderUnavailable

REQUEST = "request"
"""The reason of a failure that is the request's: it says nothing of the provider's health."""

_GROWTH = 2.0
_JITTER = 0.2
"""Each pause is up to this part shorter or longer: several servers must not come back at once."""


@dataclass(frozen=True, slots=True)
class RestSettings:
    """Seconds. What only somebody's doing can mend (a key, a quota) begins with ``unusable``."""

    first: float = 5.0
    longest: float = 300.0
    unusable: float = 60.0


@dataclass(slots=True)
class Rest:
    """One provider's state, shared by all sessions of the process. Times are the loop's clock.

    Half-open: when a pause is over, one call tries the provider while all others still pass it by;
    what becomes of that call decides. A call asks :meth:`admit` and reports what became of it with
    the ticket that it got: a report that began before the latest verdict is out of date, so that
    fifty calls that fail together count as one failure.
    """

    settings: RestSettings = field(default_factory=RestSettings)
    failures: int = 0
    """In a row."""
    last_error: str = ""
    reason: str = ""
    _until: float = 0.0
    _epoch: int = 0
    _trial: bool = False

    def free(self, now: float) -> bool:
        """May the provider be asked?"""
        return not self.failures or (now >= self._until and not self._trial)

    def admit(self) -> int:
        """Begin a call; return its ticket."""
        self._trial = self.failures > 0
        return self._epoch

    def succeeded(self, ticket: int) -> None:
        """The provider works."""
        if ticket == self._epoch and self.failures:
            self._verdict()
            self.failures = 0
            self.last_error = self.reason = ""

    def failed(self, ticket: int, error: ProviderError, now: float) -> None:
        """The provider has failed; the pause is longer each time, or what the service asks for."""
        if ticket != self._epoch:
            return
        self._verdict()
        settings = self.settings
        first = settings.unusable if isinstance(error, ProviderUnavailable) else settings.first
        pause = min(first * _GROWTH ** min(self.failures, 32), settings.longest)
        pause *= random.uniform(1 - _JITTER, 1 + _JITTER)  # noqa: S311 - jitter, no secret
        self.failures += 1
        self.last_error, self.reason = str(error), error.reason
        self._until = now + max(pause, min(error.retry_after or 0.0, settings.longest))

    def report(self, ticket: int, error: ProviderError, now: float) -> None:
        """Take note of a failure, unless the request was what was wrong."""
        if error.reason == REQUEST:
            self.abandoned(ticket)
        else:
            self.failed(ticket, error, now)

    def abandoned(self, ticket: int) -> None:
        """The call was given up before anything was known: the next one may try."""
        if ticket == self._epoch:
            self._trial = False

    def state(self, now: float) -> dict[str, Any]:
        """Return what a health page shows."""
        if not self.failures:
            return {"state": "ready"}
        left = self._until - now
        state: Literal["resting", "trying", "due"] = (
            "trying" if self._trial else "resting" if left > 0 else "due"
        )
        shown: dict[str, Any] = {"state": state, "failures": self.failures, "reason": self.reason}
        return shown | ({"again_in_s": round(left, 1)} if state == "resting" else {})

    def _verdict(self) -> None:
        self._epoch += 1
        self._trial = False

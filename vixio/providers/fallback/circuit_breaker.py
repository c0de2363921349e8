"""A circuit breaker: when a failed provider is tried again. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from vixio.core.backoff import Backoff
from vixio.core.errors import REQUEST, ProviderError, ProviderUnavailable


@dataclass(frozen=True, slots=True)
class BreakerSettings:
    """Seconds for which the circuit stays open: after the first failure, and at most.

    ``unusable``: after the first failure that an operator must fix (a key, a missing model).
    """

    first: float = 5.0
    longest: float = 300.0
    unusable: float = 60.0


@dataclass(slots=True)
class CircuitBreaker:
    """The circuit of one provider, shared by all sessions. Times are those of the loop's clock.

    Closed: calls pass. A failure opens it: calls pass the provider over, for a time that grows with
    each failure in a row. Then it is half-open: one call tries the provider while others still pass
    it over, and its outcome closes or opens the circuit.

    A call takes a ticket from :meth:`begin` and reports its outcome with it. The report of a call
    that began before the latest change is out of date: fifty calls that fail together are one
    failure.
    """

    settings: BreakerSettings = field(default_factory=BreakerSettings)
    failures: int = 0
    """In a row; 0: the circuit is closed."""
    last_error: str = ""
    reason: str = ""
    _until: float = 0.0
    _epoch: int = 0
    _trial: bool = False

    def allows(self, now: float) -> bool:
        """Whether the provider may be asked."""
        return not self.failures or (now >= self._until and not self._trial)

    def begin(self) -> int:
        """Begin a call; return its ticket."""
        self._trial = self.failures > 0
        return self._epoch

    def succeeded(self, ticket: int) -> None:
        """Report a success, which closes the circuit."""
        if ticket == self._epoch and self.failures:
            self._change()
            self.failures = 0
            self.last_error = self.reason = ""

    def failed(self, ticket: int, error: ProviderError, now: float) -> None:
        """Report a failure, which opens the circuit, at least for as long as the service asks."""
        if ticket != self._epoch:
            return
        self._change()
        settings = self.settings
        first = settings.unusable if isinstance(error, ProviderUnavailable) else settings.first
        self.failures += 1
        delay = Backoff(first, settings.longest).delay(self.failures)
        self.last_error, self.reason = str(error), error.reason
        self._until = now + max(delay, min(error.retry_after or 0.0, settings.longest))

    def report(self, ticket: int, error: ProviderError, now: float) -> None:
        """Report a failure, unless it concerns the request alone and not the provider's health."""
        if error.reason == REQUEST:
            self.abandoned(ticket)
        else:
            self.failed(ticket, error, now)

    def abandoned(self, ticket: int) -> None:
        """Report a call without an outcome: the next one may be the trial."""
        if ticket == self._epoch:
            self._trial = False

    def due(self, now: float) -> None:
        """Let the next call be the trial: what the pause was for is known to be over."""
        self._until = min(self._until, now)

    def state(self, now: float) -> dict[str, Any]:
        """Return the state for the health page."""
        if not self.failures:
            return {"state": "ready"}
        known = {"failures": self.failures, "reason": self.reason}
        if self._trial or now >= self._until:
            return {"state": "half_open", **known}
        return {"state": "open", **known, "retry_in_s": round(self._until - now, 1)}

    def _change(self) -> None:
        self._epoch += 1
        self._trial = False

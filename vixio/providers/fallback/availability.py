"""Whether a provider of a list can be asked now, and how much it has to do."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from vixio.core.backoff import Backoff
from vixio.core.errors import ProviderError, ProviderTimeout, ProviderUnavailable
from vixio.core.log_fields import shared_context
from vixio.core.tasks import cancel_and_wait
from vixio.providers.fallback.circuit_breaker import BreakerSettings, CircuitBreaker
from vixio.providers.health import TRIAL_S, Verifiable

_log = logging.getLogger(__name__)

_uses: Final = count(1)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a provider stands in a list.

    Providers of one ``group`` do the same on different servers, and share the work; a group of a
    higher number is asked where those before it fail. ``server``: host and port, empty where there
    is only one.
    """

    group: int
    server: str = ""


class Availability:
    """What is known of one provider, for all that use it. Times are those of the loop's clock.

    A use that fails opens the circuit. If the provider's service can be asked free of charge
    (``verify`` of :class:`~vixio.providers.health.Verifiable`), it is, in the background: no turn
    is spent on a service that does not answer, and one that is back is used again soon, however
    long it was away.
    """

    def __init__(
        self, name: str, provider: object, settings: BreakerSettings, place: Place
    ) -> None:
        self.breaker = CircuitBreaker(settings)
        self.place = place
        self.pending = 0
        """Uses that have no outcome yet."""
        self._name = name
        self._provider = provider
        self._settings = settings
        self._last_use = 0
        self._down = False
        self._watching: asyncio.Task[None] | None = None
        self._closed = False

    def allows(self, now: float) -> bool:
        """Whether it may be asked."""
        return not self._down and self.breaker.allows(now)

    def order(self) -> tuple[int, int, int]:
        """Return the key to sort by: group, pending uses, and the one unused for longest."""
        return self.place.group, self.pending, self._last_use

    def begin(self) -> int:
        """Begin a use; return its ticket."""
        self.pending += 1
        self._last_use = next(_uses)
        return self.breaker.begin()

    def succeeded(self, ticket: int) -> None:
        """Report that the provider did the work, or began to. The use is not over yet."""
        self.breaker.succeeded(ticket)

    def report(self, ticket: int, error: ProviderError, *, watch: bool = True) -> None:
        """Report a failure. ``watch``: whether its service may be asked from now on."""
        failures = self.breaker.failures
        self.breaker.report(ticket, error, asyncio.get_running_loop().time())
        # Without a pause, nothing is ever passed over.
        news = self.breaker.failures > failures and self._settings.first > 0
        if watch and news and isinstance(self._provider, Verifiable):
            self._watch(self._provider, error)

    def abandoned(self, ticket: int) -> None:
        """Report that a use was given up without an outcome."""
        self.breaker.abandoned(ticket)

    def over(self) -> None:
        """Report that a use is over, whatever came of it."""
        self.pending -= 1

    def state(self, now: float) -> dict[str, Any]:
        """Return the state for the health page."""
        known = self.breaker.state(now)
        if self._down and known["state"] == "half_open":
            known["state"] = "open"
        if not self.place.server:
            return known
        return {"server": self.place.server, "pending": self.pending, **known}

    async def close(self) -> None:
        """End what runs in the background. Idempotent.

        Uses that are under way fail when their provider is closed behind this; nothing follows.
        """
        self._closed = True
        await cancel_and_wait(self._watching)

    def _watch(self, service: Verifiable, error: ProviderError) -> None:
        if not self._closed and (self._watching is None or self._watching.done()):
            self._down = True
            self._watching = asyncio.create_task(
                self._ask_until_it_answers(service, error), context=shared_context()
            )

    async def _ask_until_it_answers(self, service: Verifiable, error: ProviderError) -> None:
        refused = False
        try:
            while True:
                await asyncio.sleep(self._pause(error))
                try:
                    async with asyncio.timeout(TRIAL_S):
                        await service.verify()
                except ProviderError as found:
                    error = found
                except TimeoutError:
                    error = ProviderTimeout(self._name, "answer", TRIAL_S)
                else:
                    break
                refused = True
        except Exception:  # noqa: BLE001 - a defect of a trial must not keep a provider from its work
            _log.exception("trial failed unexpectedly", extra={"provider": self._name})
        finally:
            self._down = False
        if refused:  # the pause grew because of what is mended now
            self.breaker.due(asyncio.get_running_loop().time())

    def _pause(self, error: ProviderError) -> float:
        settings = self._settings
        seconds = settings.unusable if isinstance(error, ProviderUnavailable) else settings.first
        return Backoff(seconds, seconds).delay(1)

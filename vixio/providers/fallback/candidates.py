"""The providers of one fallback list: their start, their order and their health."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from vixio.core.errors import ProviderError, ProviderUnavailable, as_provider_error
from vixio.core.log_fields import shared_context
from vixio.core.tasks import cancel_and_wait
from vixio.providers.fallback.availability import Availability, Place
from vixio.providers.fallback.circuit_breaker import BreakerSettings
from vixio.providers.health import served, trial

_log = logging.getLogger(__name__)


class Startable(Protocol):
    """What the providers of all kinds have in common."""

    name: str

    async def start(self) -> None: ...
    async def close(self) -> None: ...


P = TypeVar("P", bound=Startable)


@dataclass(slots=True, eq=False)
class Candidate(Generic[P]):
    """One provider of a list."""

    provider: P
    availability: Availability
    ready: bool = False
    """Whether it has started."""
    served: int = 0
    failed: int = 0
    error: ProviderError | None = None
    """Its latest failure."""
    starting: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        """The provider's name."""
        return self.provider.name

    @property
    def group(self) -> int:
        """The number of its group: those do the same on different servers."""
        return self.availability.place.group

    def state(self, now: float) -> dict[str, Any]:
        """Return the state for the health page."""
        known = self.availability.state(now)
        if not self.ready and not self.availability.breaker.failures:
            known["state"] = "starting" if self.starting is not None else "not started"
        state = {"provider": self.name, **known, "served": self.served, "failed": self.failed}
        provider: object = self.provider
        if isinstance(provider, FallbackProvider):  # one that has several servers
            state["servers"] = provider.stats()
        return state


class Attempt(Generic[P]):
    """One piece of work given to a candidate. Its first outcome is reported, later ones are not."""

    __slots__ = ("_kind", "_open", "_ticket", "candidate")

    def __init__(self, kind: str, candidate: Candidate[P]) -> None:
        self.candidate = candidate
        self._kind = kind
        self._ticket = candidate.availability.begin()
        self._open = True

    def worked(self) -> None:
        """Report that the candidate did the work."""
        if self._ends():
            self.candidate.served += 1
            self.candidate.availability.succeeded(self._ticket)

    def failed(self, error: Exception) -> ProviderError:
        """Report a failure, which opens the circuit; return it as a ProviderError."""
        candidate = self.candidate
        failure = as_provider_error(candidate.name, error)
        if self._ends():
            candidate.failed += 1
            candidate.error = failure
            # What has not started cannot be asked yet.
            candidate.availability.report(self._ticket, failure, watch=candidate.ready)
            fields = {"kind": self._kind, "provider": candidate.name, "error": str(failure)}
            if server := candidate.availability.place.server:
                fields["server"] = server
            _log.warning("provider failed", extra=fields)
        return failure

    def over(self) -> None:
        """Report that the work was given up, unless it has an outcome."""
        if self._ends():
            self.candidate.availability.abandoned(self._ticket)

    def _ends(self) -> bool:
        """Return whether this is the first outcome, with which the work is over."""
        if not self._open:
            return False
        self._open = False
        self.candidate.availability.over()
        return True


class Candidates(Generic[P]):
    """The providers of one list, in order. Their health is shared by all users of the list.

    ``kind``: the list's section of the settings. ``places``: of each provider, where some of them
    do the same on different servers. Methods raise ProviderError if no provider can be asked.
    """

    def __init__(
        self,
        kind: str,
        providers: Sequence[P],
        breaker: BreakerSettings | None = None,
        places: Sequence[Place] = (),
    ) -> None:
        if not providers:
            raise ValueError("a list needs at least one provider")
        self.kind = kind
        settings = breaker or BreakerSettings()
        places = places or [Place(number) for number in range(len(providers))]
        self.all = [
            Candidate(each, Availability(each.name, each, settings, place))
            for each, place in zip(providers, places, strict=True)
        ]
        self._names = {each.group: each.name for each in reversed(self.all)}
        self.name = ", ".join(self._names[group] for group in sorted(self._names))
        self.closed = False
        self._usable = asyncio.Event()

    async def start(self) -> None:
        """Start all at the same time; one that fails does not stop the others.

        Raises ProviderError if all fail: ProviderUnavailable if an operator must fix each.
        """
        if self.closed:
            raise self._closed()
        for candidate in self.all:
            if not candidate.ready:
                self._begin(candidate)
        if starting := self._starting():
            await asyncio.wait(starting)  # a cancellation leaves the tasks to other waiters
        if not any(candidate.ready for candidate in self.all):
            raise self._failure()

    async def usable(self) -> bool:
        """Wait until one has started or all have failed to; return whether one has."""
        await self._usable.wait()
        return any(candidate.ready for candidate in self.all)

    async def verify(self) -> bool:
        """Ask the services of all that have started. Those that refuse are passed over.

        As :class:`~vixio.providers.health.Verifiable`; raises the first error if all refuse.
        """
        ready = [candidate for candidate in self.all if candidate.ready]
        outcomes = await asyncio.gather(*(trial(candidate.provider) for candidate in ready))
        for candidate, outcome in zip(ready, outcomes, strict=True):
            if isinstance(outcome, ProviderError):
                self.attempt(candidate).failed(outcome)
        return served(outcomes)

    async def close(self) -> None:
        """Close all. Idempotent."""
        self.closed = True
        await cancel_and_wait(*self._starting())
        await asyncio.gather(*(candidate.availability.close() for candidate in self.all))
        closing = (candidate.provider.close() for candidate in self.all)
        results = await asyncio.gather(*closing, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result

    def plan(self) -> list[Candidate[P]]:
        """Return the candidates to ask, in order: those that are available, else all.

        Within a group, the one with the fewest pieces of work comes first. A candidate that did not
        start is started again once its circuit allows it, for later calls.
        """
        if self.closed:
            raise self._closed()
        now = asyncio.get_running_loop().time()
        for candidate in self.all:
            failed = not candidate.ready and candidate.availability.breaker.failures
            if failed and candidate.availability.allows(now):
                self._begin(candidate)
        ready = [candidate for candidate in self.all if candidate.ready]
        if not ready:
            raise self._failure()
        ready.sort(key=lambda candidate: candidate.availability.order())
        return [candidate for candidate in ready if candidate.availability.allows(now)] or ready

    def attempt(self, candidate: Candidate[P]) -> Attempt[P]:
        """Begin a piece of work with ``candidate``."""
        return Attempt(self.kind, candidate)

    def label(self, candidate: Candidate[P]) -> str:
        """Return the name of ``candidate``, with its group where others have the same name."""
        same = [group for group, name in self._names.items() if name == candidate.name]
        return f"{candidate.name}[{candidate.group}]" if len(same) > 1 else candidate.name

    def stats(self) -> list[dict[str, Any]]:
        """Return the state of each, in order."""
        now = asyncio.get_running_loop().time()
        return [candidate.state(now) for candidate in self.all]

    def none_left(self) -> ProviderError:
        """Return the error of a call for which no candidate was asked."""
        return ProviderError(self.name, "no provider is available", retryable=False)

    def _begin(self, candidate: Candidate[P]) -> None:
        if candidate.starting is None:
            candidate.starting = asyncio.create_task(
                self._start(candidate), context=shared_context()
            )

    def _starting(self) -> list[asyncio.Task[None]]:
        return [each.starting for each in self.all if each.starting is not None]

    async def _start(self, candidate: Candidate[P]) -> None:
        attempt = self.attempt(candidate)
        try:
            await candidate.provider.start()
        except Exception as error:  # noqa: BLE001 - a defect counts as a failure: others take over
            attempt.failed(error)
        else:
            candidate.ready = True
            candidate.error = None
            attempt.worked()
            candidate.served = 0
        finally:
            attempt.over()
            candidate.starting = None
            if candidate.ready or all(each.failed for each in self.all):
                self._usable.set()

    def _closed(self) -> ProviderError:
        return ProviderError(self.name, "the provider is closed", retryable=False)

    def _failure(self) -> ProviderError:
        """Return why no candidate can be asked."""
        errors = [candidate.error for candidate in self.all if candidate.error is not None]
        if not errors:
            return ProviderError(self.name, "the provider is not started", retryable=False)
        words = "no provider of the list can be used: " + "; ".join(map(str, errors))
        if all(isinstance(error, ProviderUnavailable) for error in errors):
            return ProviderUnavailable(self.kind, words, reason=errors[0].reason)
        return ProviderError(self.kind, words, reason=errors[0].reason)


class FallbackProvider(Generic[P]):
    """What the fallback lists of all kinds do as one provider."""

    candidates: Candidates[P]
    alternatives: ClassVar[bool] = True
    """Whether each does the whole work; not, where several do it together."""

    async def start(self) -> None:
        """Start all; raises ProviderError if none can be used."""
        await self.candidates.start()

    async def usable(self) -> bool:
        """Wait until one can be used or all have failed to start; return whether one can."""
        return await self.candidates.usable()

    async def verify(self) -> bool:
        """Ask the services of all; raises the first error if all refuse."""
        return await self.candidates.verify()

    def stats(self) -> list[dict[str, Any]]:
        """Return the state of each, in order."""
        return self.candidates.stats()

    async def close(self) -> None:
        """Close all; work that is under way fails."""
        await self.candidates.close()


class UnavailableProvider:
    """Takes the place in a list of a provider that could not be created: it fails to start."""

    window_samples = 0

    def __init__(self, name: str, error: ProviderError) -> None:
        self.name = name
        self._error = error

    async def start(self) -> None:
        """Raise the error of its creation."""
        raise self._error

    async def close(self) -> None:
        """Nothing to close."""

"""What the chains of all kinds have in common: who stands in one, who is asked next, who rests."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from loguru import logger

from vixio.core.errors import ProviderError, ProviderUnavailable, describe
from vixio.providers.chain.health import Rest, RestSettings
from vixio.providers.chain.shares import Wish, share


class Startable(Protocol):
    """What the providers of all kinds have in common."""

    name: str

    async def start(self) -> None: ...
    async def close(self) -> None: ...


P = TypeVar("P", bound=Startable)


@dataclass(slots=True, eq=False)
class Member(Generic[P]):
    """One provider of a chain. ``error``: what last kept it from its work, if anything did."""

    provider: P
    rest: Rest
    ready: bool = False
    """Has it started?"""
    served: int = 0
    failed: int = 0
    error: ProviderError | None = None
    starting: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        """The provider's name."""
        return self.provider.name

    def state(self, now: float) -> dict[str, Any]:
        """Return what a health page shows."""
        known = self.rest.state(now)
        if not self.ready and not self.rest.failures:
            known = {"state": "starting" if self.starting is not None else "not started"}
        return {"provider": self.name, **known, "served": self.served, "failed": self.failed}


class Attempt(Generic[P]):
    """One piece of work given to a member; what becomes of it is reported once."""

    __slots__ = ("_kind", "_open", "_ticket", "member")

    def __init__(self, kind: str, member: Member[P]) -> None:
        self.member = member
        self._kind = kind
        self._ticket = member.rest.admit()
        self._open = True

    def worked(self) -> None:
        """The member did it."""
        if self._open:
            self._open = False
            self.member.served += 1
            self.member.rest.succeeded(self._ticket)

    def failed(self, error: Exception) -> ProviderError:
        """The member failed: it rests. Return the error as a provider's."""
        known = as_provider_error(self.member.name, error)
        if self._open:
            self._open = False
            self.member.failed += 1
            self.member.error = known
            self.member.rest.report(self._ticket, known, asyncio.get_running_loop().time())
            logger.bind(kind=self._kind, provider=self.member.name, error=str(known)).warning(
                "provider failed"
            )
        return known

    def over(self) -> None:
        """Nobody wants it any more: unless something was reported, nothing is known."""
        if self._open:
            self._open = False
            self.member.rest.abandoned(self._ticket)


class Members(Generic[P]):
    """The providers of one chain, in their order; their health is shared by all who use them.

    ``kind`` is the chain's section of the settings. Raises ProviderError where none can be asked.
    """

    def __init__(self, kind: str, providers: Sequence[P], rest: RestSettings | None = None) -> None:
        if not providers:
            raise ValueError("a chain needs at least one provider")
        self.kind = kind
        self.members = [Member(each, Rest(rest or RestSettings())) for each in providers]
        self.name = ", ".join(each.name for each in providers)
        self.closed = False
        self._usable = asyncio.Event()

    async def start(self) -> None:
        """Start all of them beside each other; one that cannot does not stop the others.

        Raises when none can: ProviderUnavailable if only somebody's doing could mend that.
        """
        if self.closed:
            raise self._closed()
        for member in self.members:
            if not member.ready:
                self._begin(member)
        if starting := self._starting():
            await asyncio.wait(starting)  # which leaves them to others who wait, if cancelled
        if not any(member.ready for member in self.members):
            raise self._failure()

    async def usable(self) -> bool:
        """Wait until one of them has started, or all have failed to; return whether one has."""
        await self._usable.wait()
        return any(member.ready for member in self.members)

    async def close(self) -> None:
        """Close all of them. Idempotent."""
        self.closed = True
        if starting := self._starting():
            for task in starting:
                task.cancel()
            await asyncio.wait(starting)
        closing = (member.provider.close() for member in self.members)
        results = await asyncio.gather(*closing, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result

    def plan(self) -> list[Member[P]]:
        """Return those to ask, in order: who rests is passed over, unless all do.

        Who did not start is started again, once its pause is over, for those who come later.
        """
        if self.closed:
            raise self._closed()
        now = asyncio.get_running_loop().time()
        for member in self.members:
            if not member.ready and member.rest.failures and member.rest.free(now):
                self._begin(member)
        ready = [member for member in self.members if member.ready]
        if not ready:
            raise self._failure()
        return [member for member in ready if member.rest.free(now)] or ready

    def attempt(self, member: Member[P]) -> Attempt[P]:
        """Begin a piece of work with ``member``."""
        return Attempt(self.kind, member)

    def label(self, member: Member[P]) -> str:
        """Return the name of ``member``, with its number where others have the same name."""
        same = [each for each in self.members if each.name == member.name]
        return f"{member.name}[{self.members.index(member)}]" if len(same) > 1 else member.name

    def stats(self) -> list[dict[str, Any]]:
        """Return the state of each, in order."""
        now = asyncio.get_running_loop().time()
        return [member.state(now) for member in self.members]

    def _begin(self, member: Member[P]) -> None:
        if member.starting is None:
            member.starting = asyncio.create_task(self._start(member))

    def _starting(self) -> list[asyncio.Task[None]]:
        return [each.starting for each in self.members if each.starting is not None]

    async def _start(self, member: Member[P]) -> None:
        attempt = self.attempt(member)
        try:
            await member.provider.start()
        except Exception as error:  # noqa: BLE001 - whatever keeps it from starting, the others do
            attempt.failed(error)
        else:
            member.ready = True
            member.error = None
            attempt.worked()
            member.served = 0
        finally:
            attempt.over()
            member.starting = None
            if member.ready or all(each.failed for each in self.members):
                self._usable.set()

    def _closed(self) -> ProviderError:
        return ProviderError(self.name, "it is closed", retryable=False)

    def _failure(self) -> ProviderError:
        """Return why there is nobody to ask."""
        errors = [member.error for member in self.members if member.error is not None]
        if not errors:
            return ProviderError(self.name, "it is not started", retryable=False)
        words = "none of them can be used: " + "; ".join(map(str, errors))
        if all(isinstance(error, ProviderUnavailable) for error in errors):
            return ProviderUnavailable(self.kind, words, reason=errors[0].reason)
        return ProviderError(self.kind, words, reason=errors[0].reason)


class Chain(Generic[P]):
    """What every chain does as one provider."""

    members: Members[P]

    async def start(self) -> None:
        """Start all; raises ProviderError when none can be used."""
        await self.members.start()

    async def usable(self) -> bool:
        """Wait until one can be used, or all have failed to start; return whether one can."""
        return await self.members.usable()

    def stats(self) -> list[dict[str, Any]]:
        """Return the state of each, in order."""
        return self.members.stats()

    async def close(self) -> None:
        """Close all; what is in hand fails."""
        await self.members.close()


class Unmade:
    """Stands in a chain for a provider that cannot even be made: it fails to start."""

    window_samples = 0

    def __init__(self, name: str, error: ProviderError) -> None:
        self.name = name
        self._error = error

    async def start(self) -> None:
        """Raise what kept it from being made."""
        raise self._error

    async def close(self) -> None:
        """Nothing to close."""


def patience(seconds: float, left: float, candidates: int) -> float:
    """Return how many of the ``left`` seconds the first of so many candidates gets.

    ``seconds``: what each of them would like to have.
    """
    return share([Wish(seconds)] * candidates, left)


def as_provider_error(name: str, error: Exception) -> ProviderError:
    """Return ``error`` as what the provider ``name`` failed of; a defect is one of its failures."""
    return error if isinstance(error, ProviderError) else ProviderError(name, describe(error))

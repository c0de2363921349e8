"""Makes and starts one provider in the background, and tries again after a failure."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Generic, Protocol, runtime_checkable

from vixio.core.backoff import Backoff
from vixio.core.errors import ConfigError, ProviderError, ProviderUnavailable, describe
from vixio.core.log_fields import shared_context
from vixio.core.messages import LOADING
from vixio.core.metrics import PROVIDER_ERRORS, Counters
from vixio.core.tasks import cancel_and_wait
from vixio.providers.health import SelfReporting, trial
from vixio.providers.pool.choice import P, ProviderChoice, Startable

_log = logging.getLogger(__name__)

RETRY = Backoff(first=5.0, longest=300.0)
"""Between two attempts to start a provider, since a start may load a model, and between two trials
of one whose service refuses it."""


@runtime_checkable
class PartlyUsable(Protocol):
    """A provider that can be used before all of it has started, such as a list of providers."""

    async def usable(self) -> bool:
        """Wait until it can be used, or cannot be started; return which."""
        ...


class ProviderLoader(Generic[P]):
    """One provider on its way into service.

    ``ready``: it has started, and turns use it. ``error``: why it cannot serve: its last start has
    failed, or its service has refused the last request by a reason that an operator must mend. A
    provider that has not started is not used, and is started again in the background. One that is
    refused is used all the same, since the next turn may show that it is mended.
    """

    def __init__(self, choice: ProviderChoice[P], counters: Counters) -> None:
        self.choice = choice
        self.provider: P | None = None
        self.error: ProviderError | None = None
        self.ready = False
        self._counters = counters
        self._settled = asyncio.Event()
        self._attempted = asyncio.Event()
        self._refused = False
        self._starting: asyncio.Task[None] | None = None
        self._recovering: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        """The provider's name."""
        return self.choice.name if self.provider is None else self.provider.name

    @property
    def trouble(self) -> ProviderError | None:
        """Why the provider cannot serve now; None if it can, or is loading for the first time."""
        provider: object = self.provider
        if self.error is None and self.ready and isinstance(provider, SelfReporting):
            return provider.outage
        return self.error

    @property
    def failed(self) -> bool:
        """Whether the provider cannot serve, and not because it is still loading."""
        return self.trouble is not None

    def make(self) -> P:
        """Return the provider, made if need be. Raises ProviderUnavailable, ConfigError."""
        if self.provider is None:
            self.provider = self.choice.create()
        return self.provider

    def begin(self) -> None:
        """Begin to start the provider; returns at once. Idempotent."""
        if self._starting is None and not self._refused:
            self._starting = asyncio.create_task(
                self._start_with_retries(), context=shared_context()
            )

    async def settled(self) -> None:
        """Wait until the provider is ready or its first start has failed."""
        await self._settled.wait()

    async def attempted(self) -> None:
        """Wait until the first start, and the trial of a service, are over.

        A list of providers may be ready long before.
        """
        await self._attempted.wait()

    async def within(self, seconds: float) -> P:
        """Return the started provider; raise ProviderError if it is not after ``seconds``."""
        if not self.ready and self.error is None:
            try:
                async with asyncio.timeout(seconds):
                    await self._settled.wait()
            except TimeoutError:
                pass
        if not self.ready or self.provider is None:
            raise self.not_ready()
        return self.provider

    def not_ready(self) -> ProviderError:
        """Return the error of a turn that needs the provider now."""
        return self.error or ProviderError(self.name, "it is still loading", reason=LOADING)

    def refuse(self, error: ProviderError) -> None:
        """Fail without an attempt: :meth:`begin` then does nothing."""
        self._refused = True
        self.error = error
        self._settled.set()
        self._attempted.set()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Learn from a use of the provider, which is the body, whether it can serve."""
        try:
            yield
        except ProviderError as error:
            self._count(error)
            self._used_in_vain(error)
            raise
        else:
            self._recovered()

    def stats(self) -> dict[str, Any]:
        """Return the state for a health page: ``failed`` with the key of the reason."""
        known = {"kind": str(self.choice.kind), "provider": self.name}
        trouble = self.trouble
        if trouble is not None and trouble.reason != LOADING:
            return {**known, "state": "failed", "reason": trouble.reason}
        return {**known, "state": "ready" if self.ready and trouble is None else "loading"}

    async def close(self) -> None:
        """End a start that is in progress, and the provider. Idempotent."""
        await cancel_and_wait(self._starting, self._recovering)
        self.ready = False
        self.error = ProviderError(self.name, "the provider is closed", retryable=False)
        self._settled.set()
        if self.provider is not None:
            await self.provider.close()

    async def _start_with_retries(self) -> None:
        failures = 0
        while not await self._attempt():
            failures += 1
            await asyncio.sleep(RETRY.delay(failures))

    async def _attempt(self) -> bool:
        """Start the provider once; return whether it has started."""
        try:
            if not await self._try_once():
                return False
            await self._verify()
            return True
        finally:
            self._attempted.set()

    async def _try_once(self) -> bool:
        try:
            await self._start(self.make())
        except ProviderError as error:
            self._failed(error)
        except ConfigError as error:
            self._failed(ProviderUnavailable(self.name, str(error)))
        except Exception as error:  # noqa: BLE001 - a defect of one provider costs its turns, not the server
            _log.exception("provider failed to start unexpectedly", extra=self._fields())
            self._failed(ProviderUnavailable(self.name, describe(error)))
        else:
            self._succeeded()
            return True
        return False

    async def _start(self, provider: Startable) -> None:
        if not isinstance(provider, PartlyUsable):
            await provider.start()
            return
        watching = asyncio.create_task(self._watch(provider))
        try:
            await provider.start()
        finally:
            await cancel_and_wait(watching)

    async def _watch(self, provider: PartlyUsable) -> None:
        if await provider.usable():
            self._succeeded()

    def _succeeded(self) -> None:
        self.ready = True
        self._recovered()
        self._settled.set()

    def _failed(self, error: ProviderError) -> None:
        self._count(error)
        self._note("provider cannot be used", error)
        self.ready = False
        self._settled.set()

    def _count(self, error: ProviderError) -> None:
        """Count a start or a use that failed, by kind, provider and reason."""
        name = f"{self.choice.kind}.{self.name}.{error.reason or 'other'}"
        self._counters.add(f"{PROVIDER_ERRORS}{name}")

    def _note(self, message: str, error: ProviderError) -> None:
        """Keep ``error`` as the reason; what is known already is no news."""
        error.part = str(self.choice.kind)
        error.reason = error.reason or "not_ready"
        level = logging.ERROR if self.error is None else logging.DEBUG
        _log.log(level, message, extra={**self._fields(), "reason": str(error)})
        self._counters.add("provider.unusable")
        self.error = error

    def _recovered(self) -> None:
        if self.error is not None:
            self.error = None
            _log.info("provider works again", extra=self._fields())

    # ── a provider that has started, and is refused ──────────────────────────────────────────

    def _used_in_vain(self, error: ProviderError) -> None:
        """Note a failure in use, if it says that later uses will fail as well."""
        if not self.ready:
            return
        if isinstance(error, ProviderUnavailable):
            self._note("service cannot be used", error)
            if self._recovering is None or self._recovering.done():
                self._recovering = asyncio.create_task(self._recover(refused=False))
        elif self.error is None and (outage := self.trouble) and outage.reason != LOADING:
            error.part = str(self.choice.kind)

    async def _verify(self) -> None:
        """Ask the service of a provider that has just started whether it would serve."""
        error = await trial(self.provider)
        if isinstance(error, ProviderError):
            self._note("service cannot be used", error)
            self._recovering = asyncio.create_task(self._recover(refused=True))

    async def _recover(self, *, refused: bool) -> None:
        """Try until the service accepts, beside the turns, of which one may be the first to work.

        ``refused``: whether a trial has failed. One that works although uses fail says nothing:
        some services list their models to everybody. Then only a use can show that all is well.
        """
        failures = 0
        while True:
            failures += 1
            await asyncio.sleep(RETRY.delay(failures))
            outcome = await trial(self.provider)
            if self.error is None:
                return  # a use has worked meanwhile
            if isinstance(outcome, ProviderError):
                refused = True
                self._note("service cannot be used", outcome)
            elif not refused:
                return
            elif outcome:
                self._recovered()

    def _fields(self) -> dict[str, str]:
        return {"kind": str(self.choice.kind), "provider": self.name}

"""Makes and starts one provider in the background, and tries again after a failure."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Generic, Protocol, runtime_checkable

from vixio.core.backoff import Backoff
from vixio.core.errors import ConfigError, ProviderError, ProviderUnavailable, describe
from vixio.core.messages import LOADING
from vixio.core.metrics import Counters
from vixio.providers.pool.choice import P, ProviderChoice, Startable

_log = logging.getLogger(__name__)

RETRY = Backoff(first=5.0, longest=300.0)
"""Between two attempts to start a provider, since a start may load a model."""


@runtime_checkable
class PartlyUsable(Protocol):
    """A provider that can be used before all of it has started, such as a list of providers."""

    async def usable(self) -> bool:
        """Wait until it can be used, or cannot be started; return which."""
        ...


class ProviderLoader(Generic[P]):
    """One provider on its way into service.

    ``ready``: it can be used. ``error``: why the last start failed, None after a success. A
    provider that raised ProviderUnavailable is not used until a later start succeeds; after any
    other ProviderError, such as a service that is down, it is used all the same, and its turns
    report the error.
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

    @property
    def name(self) -> str:
        """The provider's name."""
        return self.choice.name if self.provider is None else self.provider.name

    @property
    def failed(self) -> bool:
        """Whether the last start left the provider unusable."""
        return self.error is not None and not self.ready

    def make(self) -> P:
        """Return the provider, made if need be. Raises ProviderUnavailable, ConfigError."""
        if self.provider is None:
            self.provider = self.choice.create()
        return self.provider

    def begin(self) -> None:
        """Begin to start the provider; returns at once. Idempotent."""
        if self._starting is None and not self._refused:
            self._starting = asyncio.create_task(self._start_with_retries())

    async def settled(self) -> None:
        """Wait until the provider is ready or its first start has failed."""
        await self._settled.wait()

    async def attempted(self) -> None:
        """Wait until the first start is over. A list of providers may be ready long before."""
        await self._attempted.wait()

    async def within(self, seconds: float) -> P:
        """Return the ready provider; raise ProviderError if it is not ready after ``seconds``."""
        if not self.ready and not self.failed:
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

    def stats(self) -> dict[str, Any]:
        """Return the state for a health page."""
        state = "ready" if self.ready else "failed" if self.failed else "loading"
        return {"kind": str(self.choice.kind), "provider": self.name, "state": state}

    async def close(self) -> None:
        """End a start that is in progress, and the provider. Idempotent."""
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait([self._starting])
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
            return await self._try_once()
        finally:
            self._attempted.set()

    async def _try_once(self) -> bool:
        try:
            await self._start(self.make())
        except ProviderUnavailable as error:
            self._failed(error)
        except ProviderError as error:
            self._failed(error, usable=True)
        except ConfigError as error:
            self._failed(ProviderUnavailable(self.name, str(error)))
        except Exception as error:  # noqa: BLE001 - a defect of one provider costs its turns, not the server
            _log.exception("provider failed to start unexpectedly", extra=self._fields())
            self._failed(ProviderUnavailable(self.name, describe(error)))
        else:
            if self.error is not None:
                _log.info("provider works again", extra=self._fields())
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
            watching.cancel()
            await asyncio.wait([watching])

    async def _watch(self, provider: PartlyUsable) -> None:
        if await provider.usable():
            self._succeeded()

    def _succeeded(self) -> None:
        self.ready = True
        self.error = None
        self._settled.set()

    def _failed(self, error: ProviderError, *, usable: bool = False) -> None:
        level = logging.DEBUG if self.error else logging.WARNING if usable else logging.ERROR
        message = "provider failed to start" if usable else "provider cannot be used"
        _log.log(level, message, extra={**self._fields(), "reason": str(error)})
        self._counters.add("provider.start_failed" if usable else "provider.unusable")
        self.error = error
        self.ready = usable
        self._settled.set()

    def _fields(self) -> dict[str, str]:
        return {"kind": str(self.choice.kind), "provider": self.name}

"""Shares providers between all sessions whose profiles choose the same."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Generic

from vixio.core.errors import ProviderError, describe
from vixio.core.log_fields import shared_context
from vixio.core.metrics import Counters
from vixio.providers.pool.choice import P, ProviderChoice
from vixio.providers.pool.loader import ProviderLoader

_log = logging.getLogger(__name__)

LINGER_S = 120.0
"""For which a provider stays open that is not used: a device that reconnects finds it loaded."""

CAPACITY = 64
"""Providers at the same time. Each may hold a model in memory, so profiles from outside (a
registry, an API) must not be able to load any number of them."""


class _Entry:
    """A provider of the pool with its users."""

    __slots__ = ("closing", "leases", "loader")

    def __init__(self, loader: ProviderLoader[Any]) -> None:
        self.loader = loader
        self.leases = 0
        self.closing: asyncio.TimerHandle | None = None


class Lease(Generic[P]):
    """The right to use a provider until :meth:`release`."""

    __slots__ = ("_entry", "_pool", "loader")

    def __init__(self, pool: ProviderPool, entry: _Entry) -> None:
        self.loader: ProviderLoader[P] = entry.loader
        self._pool = pool
        self._entry: _Entry | None = entry

    def release(self, *, linger: float | None = None) -> None:
        """Give the provider back. Idempotent.

        ``linger``: for how many seconds it stays open without a use; None: as the pool says.
        """
        entry, self._entry = self._entry, None
        if entry is not None:
            self._pool.released(entry, linger)


class ProviderPool:
    """The providers of a server, by choice.

    A provider is made with the first lease of its choice and closed ``linger`` seconds after the
    last one is released.
    """

    def __init__(
        self, counters: Counters, *, linger: float = LINGER_S, capacity: int = CAPACITY
    ) -> None:
        self._counters = counters
        self.linger = linger
        self._capacity = capacity
        self._entries: dict[ProviderChoice[Any], _Entry] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._closed = False

    def lease(self, choice: ProviderChoice[P]) -> Lease[P]:
        """Return a lease of the provider, which is neither made nor started by this.

        Where the pool is full the provider fails with the reason ``busy``.
        """
        entry = self._entries.get(choice)
        if entry is None:
            if len(self._entries) >= self._capacity:
                self._evict()
            entry = _Entry(ProviderLoader(choice, self._counters))
            if len(self._entries) >= self._capacity or self._closed:
                return self._refused(entry)
            self._entries[choice] = entry
        if entry.closing is not None:
            entry.closing.cancel()
            entry.closing = None
        entry.leases += 1
        return Lease(self, entry)

    def released(self, entry: _Entry, linger: float | None = None) -> None:
        """Count a lease that ended; a provider without one is closed later."""
        entry.leases -= 1
        if not entry.leases and self._entries.get(entry.loader.choice) is entry:
            loop = asyncio.get_running_loop()
            entry.closing = loop.call_later(
                self.linger if linger is None else linger, self._close, entry
            )

    def loaders(self) -> list[ProviderLoader[Any]]:
        """Return the providers of the pool, the oldest first."""
        return [entry.loader for entry in self._entries.values()]

    def stats(self) -> list[dict[str, Any]]:
        """Return each provider's state and number of users, for a health page."""
        return [
            {**entry.loader.stats(), "sessions": entry.leases} for entry in self._entries.values()
        ]

    async def close(self) -> None:
        """Close all providers, the newest first. Idempotent."""
        self._closed = True
        for entry in reversed(list(self._entries.values())):
            if entry.closing is not None:
                entry.closing.cancel()
            self._close(entry)
        while self._closing:
            await asyncio.wait(self._closing)

    def _refused(self, entry: _Entry) -> Lease[Any]:
        loader = entry.loader
        message = f"{len(self._entries)} providers are in use, which is the most"
        loader.refuse(ProviderError(loader.name, message, reason="busy"))
        self._counters.add("provider.refused")
        _log.error("too many different providers", extra={"most": self._capacity})
        return Lease(self, entry)

    def _evict(self) -> None:
        """Close the provider that has been unused for the longest time, if there is one."""
        unused = [entry for entry in self._entries.values() if entry.closing is not None]
        if unused:
            first = min(unused, key=lambda entry: entry.closing.when() if entry.closing else 0.0)
            if first.closing is not None:
                first.closing.cancel()
            self._close(first)

    def _close(self, entry: _Entry) -> None:
        del self._entries[entry.loader.choice]
        task = asyncio.create_task(self._close_quietly(entry.loader), context=shared_context())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _close_quietly(self, loader: ProviderLoader[Any]) -> None:
        fields = {"kind": str(loader.choice.kind), "provider": loader.name}
        try:
            await loader.close()
        except Exception as error:  # noqa: BLE001 - a defect in closing one must not keep the others open
            _log.warning("provider failed to close", extra={**fields, "reason": describe(error)})
        else:
            self._counters.add("provider.closed")
            _log.debug("provider closed", extra=fields)

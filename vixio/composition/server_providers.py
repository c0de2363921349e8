"""The providers of a server: the pool, those of the default profile, and vision."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from vixio.composition.choices import Choices, ProfileDefaults, Providers
from vixio.composition.providers import ProviderSet, settled
from vixio.core.clock import now
from vixio.core.errors import ProviderError, ProviderTimeout, VixioError
from vixio.core.metrics import Counters
from vixio.core.tasks import cancel_and_wait
from vixio.providers.agent import AgentBackend
from vixio.providers.asr import ASRProvider
from vixio.providers.fallback.candidates import FallbackProvider
from vixio.providers.pool.choice import MadeProvider
from vixio.providers.pool.loader import ProviderLoader
from vixio.providers.pool.pool import Lease, ProviderPool
from vixio.providers.registry import ProviderKind
from vixio.providers.vision import VisionProvider
from vixio.settings import Settings

if TYPE_CHECKING:
    from vixio.providers.smart_turn import SmartTurn

_log = logging.getLogger(__name__)

START_S: Final = 60.0
"""For providers to start that are not in use yet: a model may have to be loaded."""


class ServerProviders:
    """Keeps the default profile's providers in use, so that they are loaded at all times."""

    def __init__(self, settings: Settings, made: Providers, counters: Counters) -> None:
        """``made`` replaces providers of the settings. Raises ConfigError, ProviderUnavailable."""
        self.pool = ProviderPool(counters)
        self.defaults = ProfileDefaults(settings, made)
        self._made = made
        self._default = ProviderSet(self.pool, self.defaults.choices)
        self._default.make()
        self._vision: Lease[VisionProvider] | None = None
        if made.vision is not None:
            self._vision = self.pool.lease(MadeProvider(ProviderKind.VISION, made.vision))
        elif settings.vision is not None:
            self._vision = self.pool.lease(settings.vision)
            self._vision.loader.make()
        self.second_opinion: SmartTurn | None = None
        if settings.listening.smart_turn:
            from vixio.providers.smart_turn import SmartTurn

            self.second_opinion = SmartTurn()

    @property
    def vision(self) -> ProviderLoader[VisionProvider] | None:
        """The loader of the vision provider, if there is one."""
        return self._vision.loader if self._vision is not None else None

    def agent(self) -> AgentBackend:
        """Return the agent of the default profile as it is now."""
        return self._default.agent.loader.make()

    def recogniser(self) -> ASRProvider:
        """Return the recogniser of the default profile, or its stand-in while it loads."""
        return self._default.recogniser()

    def names(self) -> dict[str, str]:
        """Return the names of the default profile's providers by kind."""
        return {str(loader.choice.kind): loader.name for loader in self._loaders()}

    def default_loaders(self) -> list[ProviderLoader[Any]]:
        """Return the loaders of the default profile's providers, and of vision."""
        return self._loaders()

    def unusable(self) -> list[str]:
        """Return the kinds of which a provider cannot serve, other than because it loads."""
        return sorted({str(each.choice.kind) for each in self.pool.loaders() if each.failed})

    def fallbacks(self) -> dict[str, list[dict[str, Any]]]:
        """Return the states of the providers in fallback lists, by kind."""
        found: dict[str, list[dict[str, Any]]] = {}
        for each in self.pool.loaders():
            if isinstance(each.provider, FallbackProvider):
                found.setdefault(each.provider.candidates.kind, []).extend(each.provider.stats())
        return found

    def servers(self) -> list[dict[str, Any]]:
        """Return the states of all servers of providers that have several."""
        found: list[dict[str, Any]] = []
        for each in self.pool.loaders():
            if isinstance(each.provider, FallbackProvider | AgentBackend):
                for state in each.provider.stats():
                    for one in state.get("servers", [state]):
                        if "server" in one:
                            name = one.get("provider") or one["model"]
                            found.append({"kind": str(each.choice.kind), **one, "provider": name})
        return found

    def stats(self) -> dict[str, Any]:
        """Return what a health page shows."""
        unusable = self.unusable()
        backend = self._default.agent.loader.provider
        lists = self.fallbacks()
        return {
            "providers": self.names(),
            "pool": self.pool.stats(),
            "models": backend.stats() if backend is not None else [],
            **({"fallbacks": lists} if lists else {}),
            **({"unusable": unusable} if unusable else {}),
        }

    def begin(self) -> None:
        """Begin to start recogniser and voice, before :meth:`load`.

        By default they load in processes of their own, while this one opens its ports.
        """
        for lease in (self._default.asr, self._default.tts):
            lease.loader.begin()
        if self.second_opinion is not None:
            self.second_opinion.begin()

    async def load(
        self, start_shared: Callable[[], Awaitable[None]], agent_ready: Callable[[], None]
    ) -> None:
        """Start the default profile's providers, and vision, in the order of their weight.

        ``start_shared`` starts the other parts of the server, once the quick providers are ready;
        ``agent_ready`` is called when the agent can answer. Raises ProviderError when one of the
        providers cannot serve, after all have been tried.
        """
        async with progress_logged(self._loaders):
            await self._load(start_shared, agent_ready)
        if failed := [each for each in self._loaders() if each.failed]:
            ready = f"{len(self._loaders()) - len(failed)} of {len(self._loaders())}"
            fields = {"failed": ", ".join(map(shown, failed)), "ready": ready}
            _log.warning("some providers are not ready", extra=fields)
            raise failed[0].trouble or failed[0].not_ready()

    async def _load(
        self, start_shared: Callable[[], Awaitable[None]], agent_ready: Callable[[], None]
    ) -> None:
        await self._default.warm_up()
        await start_shared()
        await settled(self._default.agent.loader)
        if self._vision is not None:
            self._vision.loader.begin()
        agent_ready()
        for loader in self._loaders():
            await loader.attempted()

    async def prepare(self, choices: Choices) -> None:
        """Load the providers of a profile; they stay loaded for a while without a session."""
        providers = ProviderSet(self.pool, choices)
        try:
            await providers.warm_up()
            await providers.settled()
        finally:
            providers.release()

    async def start_new(self, settings: Settings) -> dict[str, ProviderError]:
        """Start the default profile's providers of other settings, but for those that are in use.

        Return what is wrong, by kind; the others stay loaded for a while, for :meth:`replace`.
        Raises ConfigError, ProviderUnavailable when one cannot be made.
        """
        providers = ProviderSet(self.pool, ProfileDefaults(settings, self._made).choices)
        pairs = zip(providers, self._default, strict=True)
        new = [each for each, used in pairs if each.loader is not used.loader]
        try:
            providers.make()
            with suppress(TimeoutError):
                async with asyncio.timeout(START_S):
                    for each in new:
                        each.loader.begin()
                    for each in new:
                        await each.loader.attempted()
            failed = [each.loader for each in new if each.loader.failed or not each.loader.ready]
            for each in new:
                if each.loader.failed:
                    each.release(linger=0)  # so that the next save tries it anew
        finally:
            providers.release()
        return {
            str(each.choice.kind): each.trouble or ProviderTimeout(each.name, "readiness", START_S)
            for each in failed
        }

    def replace(self, settings: Settings) -> None:
        """Take the default profile's providers from other settings, and let go of the former ones.

        Raises ConfigError, ProviderUnavailable when one cannot be made; nothing has changed then.
        """
        defaults = ProfileDefaults(settings, self._made)
        providers = ProviderSet(self.pool, defaults.choices)
        try:
            providers.make()
        except VixioError:
            providers.release()
            raise
        former, self._default, self.defaults = self._default, providers, defaults
        former.release()

    async def warm_up(self) -> None:
        """Start the default profile's providers, after :meth:`replace`."""
        await self._default.warm_up()

    async def close(self) -> None:
        """Close all providers. Idempotent."""
        await self.pool.close()
        if self.second_opinion is not None:
            self.second_opinion.close()

    def _loaders(self) -> list[ProviderLoader[Any]]:
        leases: list[Lease[Any]] = [*self._default]
        if self._vision is not None:
            leases.append(self._vision)
        return [lease.loader for lease in leases]


PAUSES: Final = (3.0, 5.0, 10.0, 20.0)
"""Seconds before each line; the last one repeats. What loads faster needs no line."""


@asynccontextmanager
async def progress_logged(
    loaders: Callable[[], Sequence[ProviderLoader[Any]]],
) -> AsyncIterator[None]:
    """Log from time to time, while the body runs, which of ``loaders`` are still loading."""
    task = asyncio.create_task(_log_progress(loaders))
    try:
        yield
    finally:
        await cancel_and_wait(task)


def shown(loader: ProviderLoader[Any]) -> str:
    """Return kind and name of a provider, as in ``asr funasr``."""
    return f"{loader.choice.kind} {loader.name}"


async def _log_progress(loaders: Callable[[], Sequence[ProviderLoader[Any]]]) -> None:
    began = now()
    lines = 0
    while True:
        await asyncio.sleep(PAUSES[min(lines, len(PAUSES) - 1)])
        lines += 1
        known = loaders()
        loading = [each for each in known if not each.ready and not each.failed]
        if not loading:
            continue
        fields = {
            "waiting_for": ", ".join(map(shown, loading)),
            "seconds": round(now() - began),
            "ready": f"{sum(each.ready and not each.failed for each in known)} of {len(known)}",
        }
        _log.info("providers are still loading", extra=fields)

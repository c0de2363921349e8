"""The providers that serve one profile: their leases, and stand-ins while they load."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from vixio.composition.choices import Choices
from vixio.providers.agent import AgentBackend, AgentProvider
from vixio.providers.asr import ASRProvider
from vixio.providers.pool.choice import P
from vixio.providers.pool.loader import ProviderLoader
from vixio.providers.pool.pool import Lease, ProviderPool
from vixio.providers.pool.warming import WarmingAgent, WarmingASR, WarmingTTS, WarmingVAD
from vixio.providers.pool.watched import WatchedAgent
from vixio.providers.tts import TTSProvider
from vixio.providers.vad import VADProvider

HOLD_S = 2.5
"""For which a new session waits for its providers; audio meanwhile waits in the socket."""


class ProviderSet:
    """Leases of the providers of one profile."""

    def __init__(self, pool: ProviderPool, choices: Choices) -> None:
        self.vad: Lease[VADProvider] = pool.lease(choices.vad)
        self.asr: Lease[ASRProvider] = pool.lease(choices.asr)
        self.agent: Lease[AgentBackend] = pool.lease(choices.agent)
        self.tts: Lease[TTSProvider] = pool.lease(choices.tts)

    def make(self) -> None:
        """Make all providers. Raises ConfigError, ProviderUnavailable."""
        for lease in self:
            lease.loader.make()

    async def warm_up(self) -> None:
        """Start all providers; wait, at most for HOLD_S, until the quick ones are ready.

        The agent begins after the others: they take a second, its framework takes several, and its
        import would hold them up. A turn waits for the agent itself.
        """
        quick = (self.vad.loader, self.asr.loader, self.tts.loader)
        for loader in quick:
            loader.begin()
        with suppress(TimeoutError):
            async with asyncio.timeout(HOLD_S):
                await settled(*quick)
        self.agent.loader.begin()

    async def settled(self) -> None:
        """Wait until each provider is ready or its first start has failed."""
        await settled(*(lease.loader for lease in self))

    def detector(self) -> VADProvider:
        """Return the detector, or its stand-in while it loads."""
        return _real(self.vad) or WarmingVAD(self.vad.loader)

    def recogniser(self) -> ASRProvider:
        """Return the recogniser, or its stand-in while it loads."""
        return _real(self.asr) or WarmingASR(self.asr.loader)

    def voice(self) -> TTSProvider:
        """Return the voice, or its stand-in while it loads."""
        return _real(self.tts) or WarmingTTS(self.tts.loader)

    def new_agent(self) -> AgentProvider:
        """Return the agent of a new session."""
        loader = self.agent.loader
        backend = loader.provider  # which need not be ready
        if backend is None or (loader.error is not None and not loader.ready):
            return WarmingAgent(loader)
        return WatchedAgent(backend.create(), loader.watched)

    def release(self) -> None:
        """Give all providers back. Idempotent."""
        for lease in self:
            lease.release()

    def __iter__(self) -> Iterator[Lease[Any]]:
        return iter((self.vad, self.asr, self.agent, self.tts))


def _real(lease: Lease[P]) -> P | None:
    return lease.loader.provider if lease.loader.ready else None


async def settled(*loaders: ProviderLoader[Any]) -> None:
    """Wait until each is ready or its first start has failed."""
    for loader in loaders:
        await loader.settled()

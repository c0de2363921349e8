"""Which providers serve a device: those of its profile, over those of the server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from pydantic import ValidationError

from vixio.core.device import DeviceProfile, ProviderConfig
from vixio.core.errors import ConfigError
from vixio.providers.agent import AgentBackend, AgentProvider
from vixio.providers.asr import ASRProvider
from vixio.providers.pool.choice import MadeProvider, ProviderChoice, Startable
from vixio.providers.pool.loader import ProviderLoader
from vixio.providers.pool.pool import Lease, ProviderPool
from vixio.providers.pool.warming import WarmingAgent, WarmingASR, WarmingTTS, WarmingVAD
from vixio.providers.registry import ProviderKind
from vixio.providers.tts import TTSProvider
from vixio.providers.vad import VADProvider
from vixio.providers.vision import VisionProvider
from vixio.settings import Settings
from vixio.settings.provider import (
    AgentSection,
    ASRSection,
    ProviderSection,
    TTSSection,
    VADSection,
)

P = TypeVar("P", bound=Startable)

HOLD_S = 2.5
"""For which a new session waits for its providers; audio meanwhile waits in the socket."""


@dataclass(frozen=True, slots=True)
class Providers:
    """Providers that the program made itself. None: the one that the settings name."""

    vad: VADProvider | None = None
    asr: ASRProvider | None = None
    agent: AgentBackend | None = None
    tts: TTSProvider | None = None
    vision: VisionProvider | None = None


@dataclass(frozen=True, slots=True)
class Choices:
    """What a profile's providers are made from."""

    vad: ProviderChoice[VADProvider]
    asr: ProviderChoice[ASRProvider]
    agent: ProviderChoice[AgentBackend]
    tts: ProviderChoice[TTSProvider]

    @classmethod
    def of_server(cls, settings: Settings, made: Providers) -> Choices:
        """Return the choices of a device without a profile of its own."""
        return cls(
            chosen(ProviderKind.VAD, made.vad, settings.vad),
            chosen(ProviderKind.ASR, made.asr, settings.asr),
            chosen(ProviderKind.AGENT, made.agent, settings.agent),
            chosen(ProviderKind.TTS, made.tts, settings.tts),
        )

    def over(self, profile: DeviceProfile) -> Choices:
        """Return the choices of ``profile``, and these where it has none.

        Raises ConfigError when ``profile`` has a mapping that is not valid in a settings file.
        """
        return Choices(
            vad=_choice(VADSection, profile.vad, self.vad),
            asr=_choice(ASRSection, profile.asr, self.asr),
            agent=_choice(AgentSection, profile.agent, self.agent),
            tts=_choice(TTSSection, profile.tts, self.tts),
        )

    def completed(self, profile: DeviceProfile) -> DeviceProfile:
        """Return ``profile`` with a choice of each kind. Raises ConfigError."""
        choices = self.over(profile)
        return replace(
            profile, vad=choices.vad, asr=choices.asr, agent=choices.agent, tts=choices.tts
        )


def _choice(
    section: type[ProviderSection], config: ProviderConfig, default: ProviderChoice[P]
) -> ProviderChoice[P]:
    if config is None:
        return default
    if isinstance(config, Mapping):
        try:
            config = section.model_validate(config)
        except ValidationError as error:
            mistake = error.errors()[0]
            place = ".".join(map(str, (section.kind, *mistake["loc"])))
            raise ConfigError(f"profile: {place}: {mistake['msg']}") from None
    return cast("ProviderChoice[P]", config)


def chosen(kind: ProviderKind, made: P | None, section: ProviderChoice[P]) -> ProviderChoice[P]:
    """Return the choice of a provider that the program made, or else of the settings."""
    return section if made is None else MadeProvider(kind, made)


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
        backend = self.agent.loader.provider  # which need not be ready
        return WarmingAgent(self.agent.loader) if backend is None else backend.create()

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

"""What the providers of a device are made from: those of its profile, over those of the server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from vixio.core.device import DeviceProfile, ProviderConfig
from vixio.core.errors import ConfigError
from vixio.providers.agent import AgentBackend
from vixio.providers.asr import ASRProvider
from vixio.providers.pool.choice import MadeProvider, P, ProviderChoice
from vixio.providers.registry import ProviderKind
from vixio.providers.tts import TTSProvider
from vixio.providers.vad import VADProvider
from vixio.providers.vision import VisionProvider
from vixio.settings import Settings
from vixio.settings.devices import PROVIDERS
from vixio.settings.profile import device_section


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
    """A provider of each kind that a conversation needs."""

    vad: ProviderChoice[VADProvider]
    asr: ProviderChoice[ASRProvider]
    agent: ProviderChoice[AgentBackend]
    tts: ProviderChoice[TTSProvider]


class ProfileDefaults:
    """What profiles are completed with, and what their mappings inherit from.

    ``settings``: of the server. ``made``: providers in the place of those that they name.
    """

    def __init__(self, settings: Settings, made: Providers) -> None:
        self.settings = settings
        self.choices = Choices(
            chosen(ProviderKind.VAD, made.vad, settings.vad),
            chosen(ProviderKind.ASR, made.asr, settings.asr),
            chosen(ProviderKind.AGENT, made.agent, settings.agent),
            chosen(ProviderKind.TTS, made.tts, settings.tts),
        )
        """Of a device without a profile of its own."""

    def over(self, profile: DeviceProfile) -> Choices:
        """Return the choices of ``profile``, and the default ones where it has none.

        Raises ConfigError, one line, when ``profile`` has a provider or instructions that are not
        valid in a settings file.
        """
        if profile.instructions:
            device_section(self.settings, {"instructions": profile.instructions})
        default = self.choices
        return Choices(
            vad=self._choice("vad", profile.vad, default.vad),
            asr=self._choice("asr", profile.asr, default.asr),
            agent=self._choice("agent", profile.agent, default.agent),
            tts=self._choice("tts", profile.tts, default.tts),
        )

    def completed(self, profile: DeviceProfile) -> DeviceProfile:
        """Return ``profile`` with a choice of each kind and the server's rules of a conversation
        where it has none. Raises ConfigError as :meth:`over`."""
        choices = self.over(profile)
        rules: dict[str, Any] = {
            name: value
            for name, value in self.settings.assistant.of_profile().items()
            if getattr(profile, name) is None
        }
        return replace(
            profile, vad=choices.vad, asr=choices.asr, agent=choices.agent, tts=choices.tts, **rules
        )

    def repaired(self, profile: DeviceProfile) -> DeviceProfile:
        """Return ``profile`` completed, with defaults in the place of its invalid parts too."""
        plain = DeviceProfile()
        invalid: dict[str, Any] = {}
        for part in ("instructions", *PROVIDERS):
            alone: dict[str, Any] = {part: getattr(profile, part)}
            try:
                self.over(replace(plain, **alone))
            except ConfigError:
                invalid[part] = getattr(plain, part)
        return self.completed(replace(profile, **invalid))

    def _choice(
        self, kind: str, config: ProviderConfig, default: ProviderChoice[P]
    ) -> ProviderChoice[P]:
        if config is None:
            return default
        if isinstance(config, Mapping | list | tuple):
            config = getattr(device_section(self.settings, {kind: config}), kind)
        return cast("ProviderChoice[P]", config)


def chosen(kind: ProviderKind, made: P | None, section: ProviderChoice[P]) -> ProviderChoice[P]:
    """Return the choice of a provider that the program made, or else of the settings."""
    return section if made is None else MadeProvider(kind, made)

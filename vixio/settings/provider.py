"""The sections that choose a provider: its name, and beside it that provider's own options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, SerializeAsAny, model_validator

from vixio.core.errors import ConfigError, ProviderUnavailable
from vixio.providers import registry
from vixio.providers.agent import AgentBackend
from vixio.providers.asr import ASRProvider
from vixio.providers.registry import ProviderKind
from vixio.providers.tts import TTSProvider
from vixio.providers.vad import VADProvider
from vixio.settings.sections import Section


class ProviderSection(Section):
    """``{name: …, option: value, …}``; the options are checked by the provider's own model.

    Raises ConfigError when there is no provider of that name or it cannot be imported.
    """

    kind: ClassVar[ProviderKind]
    default_name: ClassVar[str]

    name: str
    options: SerializeAsAny[BaseModel]
    """An instance of the provider's ``settings_model``."""

    @model_validator(mode="before")
    @classmethod
    def _check_options(cls, value: object) -> object:
        if not isinstance(value, Mapping):
            return value
        name = value.get("name", cls.default_name)
        if not isinstance(name, str):
            raise ConfigError(f"{cls.kind}.name: expected the name of a provider, found {name!r}")
        given = {key: option for key, option in value.items() if key != "name"}
        try:
            factory = registry.resolve(cls.kind, name)
        except (ConfigError, ProviderUnavailable) as error:
            raise ConfigError(f"{cls.kind}.name: {error}") from error
        return {"name": name, "options": factory.settings_model.model_validate(given)}

    def _create(self) -> Any:  # noqa: ANN401 - the kind's interface, which each subclass names
        return registry.resolve(self.kind, self.name).create(self.options)


class VADSection(ProviderSection):
    """Voice activity detection."""

    kind = ProviderKind.VAD
    default_name = "silero"

    def create(self) -> VADProvider:
        """Make the detector, unstarted. Raises ConfigError, ProviderUnavailable."""
        provider: VADProvider = self._create()
        return provider


class ASRSection(ProviderSection):
    """Speech recognition."""

    kind = ProviderKind.ASR
    default_name = "pocketsphinx"

    def create(self) -> ASRProvider:
        """Make the recogniser, unstarted. Raises ConfigError, ProviderUnavailable."""
        provider: ASRProvider = self._create()
        return provider


class AgentSection(ProviderSection):
    """Who answers."""

    kind = ProviderKind.AGENT
    default_name = "phrasebook"

    def create(self) -> AgentBackend:
        """Make the agents' backend, unstarted. Raises ConfigError, ProviderUnavailable."""
        backend: AgentBackend = self._create()
        return backend


class TTSSection(ProviderSection):
    """Speech synthesis."""

    kind = ProviderKind.TTS
    default_name = "espeak"

    def create(self) -> TTSProvider:
        """Make the voice, unstarted. Raises ConfigError, ProviderUnavailable."""
        provider: TTSProvider = self._create()
        return provider

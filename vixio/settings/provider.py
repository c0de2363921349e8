"""The sections that choose a provider: its name, and beside it that provider's own options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import BaseModel, SerializeAsAny, model_validator

from vixio.core.errors import ConfigError, ProviderUnavailable
from vixio.providers import registry
from vixio.providers.agent import AgentBackend
from vixio.providers.asr import ASRProvider
from vixio.providers.registry import ProviderKind
from vixio.providers.tts import TTSProvider
from vixio.providers.vad import VADProvider
from vixio.providers.vision import VisionProvider
from vixio.settings.sections import Section, TimeoutSettings


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


_MARGIN = 0.8
"""The part of the server's own patience that an agent has, unless it is told."""


class AgentSection(ProviderSection):
    """Who answers."""

    kind = ProviderKind.AGENT
    default_name = "phrasebook"

    def within(self, timeouts: TimeoutSettings) -> Self:
        """Return the agent with its own limits below those of the server.

        One that stands in the file is not changed: it has to fit (ValueError). Limits that the
        agent does not have are its own affair.
        """
        changed: dict[str, float] = {}
        for key, outer in (
            ("first_token_timeout", "agent_first"),
            ("stall_timeout", "agent_next"),
            ("turn_timeout", "turn"),
        ):
            own, limit = getattr(self.options, key, None), getattr(timeouts, outer)
            if not isinstance(own, float):
                continue
            if key not in self.options.model_fields_set:
                if own > limit * _MARGIN:
                    changed[key] = limit * _MARGIN
            elif own >= limit:
                raise ValueError(
                    f"{key} ({own:g} s) must be below timeouts.{outer} ({limit:g} s), "
                    "which ends the turn"
                )
        if not changed:
            return self
        given = {key: getattr(self.options, key) for key in self.options.model_fields_set} | changed
        return self.model_copy(update={"options": self.options.model_validate(given)})

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


class VisionSection(ProviderSection):
    """Who looks at the photos of devices with a camera."""

    kind = ProviderKind.VISION
    default_name = "openai"

    def create(self) -> VisionProvider:
        """Make the eyes, unstarted. Raises ConfigError, ProviderUnavailable."""
        provider: VisionProvider = self._create()
        return provider

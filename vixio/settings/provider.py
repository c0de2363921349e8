"""The sections that choose a provider: its name, and that provider's own options as further keys.

A list of several is the section of the first one, which holds the others. One with several servers
holds its options for each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, ClassVar, Self

from pydantic import BaseModel, Field, SerializeAsAny, TypeAdapter, model_validator

from vixio.core.errors import ConfigError, ProviderUnavailable
from vixio.providers import registry
from vixio.providers.agent import AgentBackend
from vixio.providers.asr import ASRProvider
from vixio.providers.entry import ProviderEntry
from vixio.providers.fallback.making import Chosen, make
from vixio.providers.faults import fault
from vixio.providers.registry import ProviderFactory, ProviderKind
from vixio.providers.servers import read_options, write_options
from vixio.providers.tts import TTSProvider
from vixio.providers.vad import VADProvider
from vixio.providers.vision import VisionProvider
from vixio.settings.sections import Section, TimeoutSettings


class ProviderSection(Section):
    """``{name: …, option: value, …}``; the provider's own model validates the options.

    Validation fails when there is no provider of that name or it cannot be imported.
    """

    kind: ClassVar[ProviderKind]
    default_name: ClassVar[str]
    no_list: ClassVar[str] = ""
    """What to write instead of a list, for a kind that cannot be one."""
    limits: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Options that are time limits, each with the server's limit (``timeouts``) above it."""

    name: str
    options: SerializeAsAny[BaseModel]
    """An instance of the provider's ``settings_model``."""
    replicas: tuple[SerializeAsAny[BaseModel], ...] = ()
    """The options for further servers, which share the work with the first one."""
    others: tuple[Self, ...] = ()
    """The following ones of a list: if one fails, the next one takes over."""
    patience: float = Field(default=8.0, gt=0)
    """Seconds that a list may take as a whole: less than the server's limit."""

    def __hash__(self) -> int:
        return hash((self.kind, self.name))  # options may hold mappings, which have no hash

    @model_validator(mode="before")
    @classmethod
    def _check_options(cls, value: object) -> object:
        if isinstance(value, list | tuple):
            first, *others = cls._listed(value)
            return {
                "name": first.name,
                "options": first.options,
                "replicas": first.replicas,
                "others": others,
            }
        if not isinstance(value, Mapping):
            return value
        name, factory = cls._chosen(value)
        given = {key: option for key, option in value.items() if key != "name"}
        options, *replicas = read_options(factory, given)
        return {"name": name, "options": options, "replicas": replicas}

    @classmethod
    def _chosen(cls, value: Mapping[object, object]) -> tuple[str, ProviderFactory[Any, Any]]:
        name = value.get("name", cls.default_name)
        if not isinstance(name, str):
            raise fault(f"expected the name of a provider, found {name!r}", "name")
        try:
            return registry.current_name(cls.kind, name), registry.resolve(cls.kind, name)
        except (ConfigError, ProviderUnavailable) as error:
            raise fault(str(error), "name") from error

    @classmethod
    def _listed(cls, value: Sequence[object]) -> tuple[Self, ...]:
        if cls.no_list:
            raise ValueError(cls.no_list)
        if not value:
            raise ValueError("expected a provider or several, found an empty list")
        if any(isinstance(entry, list | tuple) for entry in value):
            raise ValueError("a list must not contain a list: write its providers here")
        return TypeAdapter(tuple[cls, ...]).validate_python(value)  # type: ignore[valid-type]  # the class at hand, known when it runs

    def each(self) -> tuple[Self, ...]:
        """Return the providers in order, each as a section of its own."""
        return (self.model_copy(update={"others": ()}), *self.others)

    def parts(self) -> Iterator[tuple[str, Self]]:
        """Yield each provider that does the work: its place below the section, and its section.

        The place of a single provider is empty, else ``[1]`` in a list, and ``.speech`` in a
        provider that is made of others.
        """
        for index, each in enumerate(self.each()):
            place = f"[{index}]" if self.others else ""
            entries: Mapping[str, ProviderEntry] = getattr(each.options, "entries", dict)()
            if not entries:
                yield place, each
            for key, entry in entries.items():
                alone = {"name": entry.name, "options": entry.options, "replicas": entry.replicas}
                yield f"{place}.{key}", each.model_copy(update=alone)

    def servers(self) -> Iterator[tuple[str, Self]]:
        """Yield the provider once for each of its servers: the place of the address, if there are
        several, and the section with that server alone.
        """
        if not self.replicas:
            yield "", self
            return
        key = registry.resolve(self.kind, self.name).servers
        for index, options in enumerate(self.each_options()):
            alone = self.model_copy(update={"options": options, "replicas": ()})
            yield f".{key}[{index}]", alone

    def each_options(self) -> tuple[BaseModel, ...]:
        """Return the options once for each server."""
        return (self.options, *self.replicas)

    def given(self) -> dict[str, Any] | list[Any]:
        """Return the section as it stands in a file: the name, and the options that are set."""
        if self.others:
            return [each.given() for each in self.each()]
        factory = registry.resolve(self.kind, self.name)
        return {"name": self.name, **write_options(factory, self.each_options())}

    def within(self, timeouts: TimeoutSettings) -> Self:
        """Return the section with its own time limits below those of the server.

        A provider that gives up first can retry or let another one try, and can say why. A limit
        in the file is not changed: it has to fit (ValueError).
        """
        section = self.limited(timeouts)
        if not self.others:
            return section
        changed: dict[str, Any] = {"others": tuple(each.limited(timeouts) for each in self.others)}
        limit = getattr(timeouts, self.kind, None)
        if limit is not None:
            changed["patience"] = limit * _MARGIN
        return section.model_copy(update=changed)

    def limited(self, timeouts: TimeoutSettings) -> Self:
        """Return the section with the time limits of its own provider below those of the server."""
        changed: dict[str, float] = {}
        for key, outer in self.limits.items():
            own, limit = getattr(self.options, key, None), getattr(timeouts, outer)
            if not isinstance(own, int | float):
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
        options, *replicas = (
            each.model_validate(
                {key: getattr(each, key) for key in each.model_fields_set} | changed
            )
            for each in self.each_options()
        )
        return self.model_copy(update={"options": options, "replicas": tuple(replicas)})

    def _create(self) -> Any:  # noqa: ANN401 - the kind's interface, which each subclass names
        chosen = [Chosen(each.name, each.each_options()) for each in self.each()]
        return make(self.kind, chosen, self.patience if self.others else None)


_MARGIN = 0.8
"""The part of the server's limit that providers have by default."""


class VADSection(ProviderSection):
    """Voice activity detection."""

    kind = ProviderKind.VAD
    default_name = "silero"
    no_list = "write one detector: a list of them has no use, since they run on this machine"

    def create(self) -> VADProvider:
        """Make the detector, unstarted. Raises ConfigError, ProviderUnavailable."""
        provider: VADProvider = self._create()
        return provider


class ASRSection(ProviderSection):
    """Speech recognition."""

    kind = ProviderKind.ASR
    limits = MappingProxyType({"timeout": "asr"})
    # PocketSphinx has no wheel for Python 3.14; there the wheel of Vixio asks for Moonshine.
    default_name = "pocketsphinx" if find_spec("pocketsphinx") else "moonshine"

    def create(self) -> ASRProvider:
        """Make the recogniser, unstarted. Raises ConfigError, ProviderUnavailable."""
        provider: ASRProvider = self._create()
        return provider


class AgentSection(ProviderSection):
    """The agent."""

    kind = ProviderKind.AGENT
    limits = MappingProxyType(
        {
            "first_token_timeout": "agent_first",
            "stall_timeout": "agent_next",
            "turn_timeout": "turn",
        }
    )
    default_name = "phrasebook"
    no_list = "write `name: fallback` and the list under `models` (docs/models.md)"

    def create(self) -> AgentBackend:
        """Make the agents' backend, unstarted. Raises ConfigError, ProviderUnavailable."""
        backend: AgentBackend = self._create()
        return backend


class TTSSection(ProviderSection):
    """Speech synthesis."""

    kind = ProviderKind.TTS
    limits = MappingProxyType({"timeout": "tts"})
    default_name = "espeak"

    def create(self) -> TTSProvider:
        """Make the voice, unstarted. Raises ConfigError, ProviderUnavailable."""
        provider: TTSProvider = self._create()
        return provider


class VisionSection(ProviderSection):
    """Describes the photos of devices with a camera."""

    kind = ProviderKind.VISION
    limits = MappingProxyType({"timeout": "vision"})
    default_name = "openai"

    def create(self) -> VisionProvider:
        """Make the vision provider, unstarted. Raises ConfigError, ProviderUnavailable."""
        provider: VisionProvider = self._create()
        return provider

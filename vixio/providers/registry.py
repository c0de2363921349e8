"""The registry of providers: kind and name to a factory, which is imported when it is resolved.

The module of a provider exports its factory::

    class AcmeSettings(BaseModel):
        model_config = ConfigDict(extra="forbid", frozen=True)
        voice: str = "anna"

    def _create(settings: AcmeSettings) -> AcmeTTSProvider:
        return AcmeTTSProvider(settings)

    FACTORY = ProviderFactory(settings_model=AcmeSettings, create=_create)

Importing that module must be cheap: ``create`` imports the vendor's library or, if that is slow,
the provider's ``start`` does. Every field of the settings has a default wherever one exists, so
that ``name: acme`` alone is a configuration.

Another distribution adds a provider by an entry point, ``kind.name = "module:attribute"``::

    [project.entry-points."vixio.providers"]
    "tts.acme" = "acme_vixio.tts:FACTORY"

Vixio's own providers are in :data:`_BUILTIN`; an entry point cannot override them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from vixio.core.errors import ConfigError, PluginUnavailable, ProviderUnavailable
from vixio.core.plugins import Plugin, PluginGroup
from vixio.providers.tts import VoiceChoice

__all__ = ["ENTRY_POINT_GROUP", "ProviderFactory", "ProviderKind", "resolve"]

ENTRY_POINT_GROUP = "vixio.providers"

SettingsT = TypeVar("SettingsT", bound=BaseModel)
ProviderT_co = TypeVar("ProviderT_co", covariant=True)


class ProviderKind(StrEnum):
    """The interfaces of providers. The value is the name of the section in the settings."""

    VAD = "vad"
    ASR = "asr"
    AGENT = "agent"
    """An :class:`~vixio.providers.agent.AgentBackend`: sessions get their agents from it."""
    TTS = "tts"
    VISION = "vision"


@dataclass(frozen=True)
class ProviderFactory(Generic[SettingsT, ProviderT_co]):
    """The settings model of a provider and the function that creates it."""

    settings_model: type[SettingsT]
    """Validates the options of the provider's section; unknown keys are an error."""
    create: Callable[[SettingsT], ProviderT_co]
    """Creates the provider, fast and without starting it.

    Raises ProviderUnavailable or ConfigError.
    """
    memory_mb: Callable[[SettingsT], int] = lambda _: 0
    """About how much memory each server process needs for it, its worker processes included.

    ``server.workers: auto`` starts no more processes than the machine has memory for.
    """
    voices: Callable[[SettingsT], Awaitable[Sequence[VoiceChoice]]] | None = None
    """Lists the voices of a TTS provider, for ``vixio voices``; may ask a service.

    Raises ProviderError. None: the provider has no list.
    """
    languages: Callable[[SettingsT], Collection[str] | None] = lambda _: None
    """The languages (BCP 47) that it hears, understands or speaks, with these settings.

    ``vixio serve`` and ``vixio check`` say so if the assistant's is not among them. None: unknown.
    May read small files, must not load a model or ask a service.
    """
    servers: str = ""
    """The option that is the address of its server, of which a file may name several.

    Then there is a provider for each, and they share the work. Empty: it has no server of its own.
    """
    create_shared: Callable[[Sequence[tuple[SettingsT, str]]], ProviderT_co] | None = None
    """Creates one provider from the options for each server, with its address.

    None: a list as of several providers, which an agent cannot be.
    """


_OPENAI_AGENT = "vixio.providers.openai_agent.backend"

_BUILTIN: Mapping[ProviderKind, Mapping[str, Plugin]] = {
    ProviderKind.VAD: {
        "silero": Plugin("vixio.providers.silero_vad.provider:FACTORY"),
        "ten": Plugin("vixio.providers.ten_vad.provider:FACTORY"),
    },
    ProviderKind.ASR: {
        "pocketsphinx": Plugin("vixio.providers.pocketsphinx.provider:FACTORY"),
        "funasr-server": Plugin("vixio.providers.funasr_server.provider:FACTORY"),
        "sherpa-onnx": Plugin("vixio.providers.sherpa_onnx.asr:FACTORY"),
        "combined": Plugin("vixio.providers.combined.settings:FACTORY"),
        "moonshine": Plugin("vixio.providers.moonshine.provider:FACTORY"),
        "whisper": Plugin("vixio.providers.whisper.provider:FACTORY"),
        "openai": Plugin("vixio.providers.openai_speech.asr:FACTORY"),
        "funasr": Plugin("vixio.providers.funasr.provider:FACTORY", "funasr"),
        "volcengine": Plugin("vixio.providers.volcengine.asr:FACTORY"),
        "dashscope": Plugin("vixio.providers.dashscope.asr:FACTORY"),
        "xunfei": Plugin("vixio.providers.xunfei.asr:FACTORY"),
    },
    ProviderKind.AGENT: {
        "phrasebook": Plugin(f"{_OPENAI_AGENT}:PHRASEBOOK_FACTORY"),
        "openai": Plugin(f"{_OPENAI_AGENT}:OPENAI_FACTORY"),
        "litellm": Plugin(f"{_OPENAI_AGENT}:LITELLM_FACTORY", "litellm"),
        "fallback": Plugin("vixio.providers.openai_agent.fallback_backend:FALLBACK_FACTORY"),
        "dify": Plugin("vixio.providers.dify.agent:FACTORY"),
        "coze": Plugin("vixio.providers.coze.agent:FACTORY"),
    },
    ProviderKind.TTS: {
        "piper": Plugin("vixio.providers.piper.provider:FACTORY"),
        "kokoro": Plugin("vixio.providers.kokoro.provider:FACTORY"),
        "sherpa-onnx": Plugin("vixio.providers.sherpa_onnx.tts:FACTORY"),
        "edge": Plugin("vixio.providers.edge_tts.provider:FACTORY", "edge"),
        "espeak": Plugin("vixio.providers.espeak.provider:FACTORY"),
        "openai": Plugin("vixio.providers.openai_speech.tts:FACTORY"),
        "volcengine": Plugin("vixio.providers.volcengine.tts:FACTORY"),
        "dashscope": Plugin("vixio.providers.dashscope.tts:FACTORY"),
        "xunfei": Plugin("vixio.providers.xunfei.tts:FACTORY"),
        "minimax": Plugin("vixio.providers.minimax.tts:FACTORY"),
        "http": Plugin("vixio.providers.http_tts.provider:FACTORY"),
    },
    ProviderKind.VISION: {
        "openai": Plugin("vixio.providers.openai_vision.provider:FACTORY"),
    },
}

_FORMER_NAMES: Mapping[tuple[ProviderKind, str], str] = {(ProviderKind.AGENT, "chain"): "fallback"}
"""Former names of providers, which settings may still have, with the present ones."""

_GROUPS: Mapping[ProviderKind, PluginGroup[ProviderFactory[Any, Any]]] = {
    kind: PluginGroup(
        ENTRY_POINT_GROUP, f"{kind} provider", ProviderFactory, builtin, prefix=f"{kind}."
    )
    for kind, builtin in _BUILTIN.items()
}


def builtin_names() -> set[tuple[ProviderKind, str]]:
    """Return kind and name of each provider that is part of Vixio."""
    return {(kind, name) for kind, group in _GROUPS.items() for name in group.builtin}


def names(kind: ProviderKind | str) -> list[str]:
    """Return the names of all providers of ``kind``, sorted."""
    return _GROUPS[ProviderKind(kind)].names()


def current_name(kind: ProviderKind | str, name: str) -> str:
    """Return the present name of the provider ``name``, which may be a former one."""
    return _FORMER_NAMES.get((ProviderKind(kind), name), name)


def resolve(kind: ProviderKind | str, name: str) -> ProviderFactory[Any, Any]:
    """Import and return the factory of the provider ``name``.

    Raises ConfigError for an unknown name, and for a plug-in that is not a factory;
    ProviderUnavailable when its module cannot be imported, with what to install.
    """
    kind = ProviderKind(kind)
    if elsewhere := _elsewhere(kind, name):
        raise ConfigError(elsewhere)
    try:
        return _GROUPS[kind].load(current_name(kind, name))
    except PluginUnavailable as error:
        raise ProviderUnavailable(f"{kind}.{name}", str(error)) from error


_WORDS: Mapping[ProviderKind, str] = {
    ProviderKind.VAD: "a detector of speech",
    ProviderKind.ASR: "a recogniser",
    ProviderKind.AGENT: "an agent",
    ProviderKind.TTS: "a voice",
    ProviderKind.VISION: "a model that sees",
}


def _elsewhere(kind: ProviderKind, name: str) -> str:
    """Return what to do if there is a provider of that name, but of other kinds only."""
    kinds = [each for each in ProviderKind if current_name(each, name) in names(each)]
    if kind in kinds or not kinds:
        return ""
    is_a = " and ".join(_WORDS[each] for each in kinds)
    place = " or ".join(f"`{each}:`" for each in kinds)
    known = ", ".join(names(kind))
    return f"{name} is {is_a}, write it under {place}; {_WORDS[kind]} goes here ({known})"

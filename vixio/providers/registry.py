"""Which providers there are: a kind and a name give a factory, imported when it is asked for.

The module of a provider exports its factory::

    class AcmeSettings(BaseModel):
        model_config = ConfigDict(extra="forbid", frozen=True)
        voice: str = "anna"

    def _create(settings: AcmeSettings) -> AcmeTTSProvider:
        return AcmeTTSProvider(settings)

    FACTORY = ProviderFactory(settings_model=AcmeSettings, create=_create)

Importing that module must be cheap: the vendor's library is imported by ``create`` or, when it is
slow, by the provider's ``start``. Every field of the settings has a default wherever one exists, so
that ``name: acme`` alone is a configuration.

Another distribution adds a provider by an entry point, ``kind.name = "module:attribute"``::

    [project.entry-points."vixio.providers"]
    "tts.acme" = "acme_vixio.tts:FACTORY"

Vixio's own stand in :data:`_BUILTIN`; nothing can take their names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from vixio.core.errors import ConfigError, ProviderUnavailable

__all__ = ["ENTRY_POINT_GROUP", "ProviderFactory", "ProviderKind", "resolve"]

ENTRY_POINT_GROUP = "vixio.providers"

SettingsT = TypeVar("SettingsT", bound=BaseModel)
ProviderT_co = TypeVar("ProviderT_co", covariant=True)


class ProviderKind(StrEnum):
    """The interfaces a provider can implement. Each is named as its section of the settings."""

    VAD = "vad"
    ASR = "asr"
    AGENT = "agent"
    """An :class:`~vixio.providers.agent.AgentBackend`: sessions get their agents from it."""
    TTS = "tts"
    VISION = "vision"


@dataclass(frozen=True)
class ProviderFactory(Generic[SettingsT, ProviderT_co]):
    """How to make a provider."""

    settings_model: type[SettingsT]
    """Validates the options of the provider's section; unknown keys are an error."""
    create: Callable[[SettingsT], ProviderT_co]
    """Makes the provider, quickly and unstarted. Raises ProviderUnavailable or ConfigError."""


@dataclass(frozen=True, slots=True)
class _Target:
    """Where a factory is, and what to do when its module cannot be imported."""

    location: str
    """``module:attribute``."""
    remedy: str
    owner: str = "vixio"
    """The distribution that brings it."""


_VIXIO = "pip install --upgrade vixio"
_OPENAI_AGENT = "vixio.providers.openai_agent.backend"

_BUILTIN: Mapping[tuple[ProviderKind, str], _Target] = {
    (ProviderKind.VAD, "silero"): _Target("vixio.providers.silero_vad.provider:FACTORY", _VIXIO),
    (ProviderKind.VAD, "ten"): _Target("vixio.providers.ten_vad.provider:FACTORY", _VIXIO),
    (ProviderKind.ASR, "pocketsphinx"): _Target(
        "vixio.providers.pocketsphinx.provider:FACTORY", _VIXIO
    ),
    (ProviderKind.ASR, "funasr-server"): _Target(
        "vixio.providers.funasr_server.provider:FACTORY", _VIXIO
    ),
    (ProviderKind.ASR, "sherpa-onnx"): _Target("vixio.providers.sherpa_onnx.asr:FACTORY", _VIXIO),
    (ProviderKind.ASR, "openai"): _Target("vixio.providers.openai_speech.asr:FACTORY", _VIXIO),
    (ProviderKind.ASR, "funasr"): _Target(
        "vixio.providers.funasr.provider:FACTORY", "pip install 'vixio[funasr]'"
    ),
    (ProviderKind.AGENT, "phrasebook"): _Target(f"{_OPENAI_AGENT}:PHRASEBOOK_FACTORY", _VIXIO),
    (ProviderKind.AGENT, "openai"): _Target(f"{_OPENAI_AGENT}:OPENAI_FACTORY", _VIXIO),
    (ProviderKind.AGENT, "litellm"): _Target(
        f"{_OPENAI_AGENT}:LITELLM_FACTORY", "pip install 'vixio[litellm]'"
    ),
    (ProviderKind.AGENT, "chain"): _Target(
        "vixio.providers.openai_agent.fallback_backend:FALLBACK_FACTORY", _VIXIO
    ),
    (ProviderKind.VISION, "openai"): _Target(
        "vixio.providers.openai_vision.provider:FACTORY", _VIXIO
    ),
    (ProviderKind.TTS, "piper"): _Target("vixio.providers.piper.provider:FACTORY", _VIXIO),
    (ProviderKind.TTS, "sherpa-onnx"): _Target("vixio.providers.sherpa_onnx.tts:FACTORY", _VIXIO),
    (ProviderKind.TTS, "edge"): _Target(
        "vixio.providers.edge_tts.provider:FACTORY", "pip install 'vixio[edge]'"
    ),
    (ProviderKind.TTS, "espeak"): _Target("vixio.providers.espeak.provider:FACTORY", _VIXIO),
    (ProviderKind.TTS, "openai"): _Target("vixio.providers.openai_speech.tts:FACTORY", _VIXIO),
}


def names(kind: ProviderKind | str) -> list[str]:
    """Return the names of all providers of ``kind``, sorted."""
    return sorted(_targets(ProviderKind(kind)))


def resolve(kind: ProviderKind | str, name: str) -> ProviderFactory[Any, Any]:
    """Import and return the factory of the provider ``name``.

    Raises ConfigError when there is none of that name, or when what a third party exports is no
    factory; ProviderUnavailable when its module cannot be imported, with what to install.
    """
    kind = ProviderKind(kind)
    claims = _targets(kind).get(name)
    if claims is None:
        raise ConfigError(_unknown(kind, name))
    if len(claims) > 1:
        owners = ", ".join(sorted(claim.owner for claim in claims))
        raise ConfigError(
            f"{owners} all bring a provider {kind}.{name}: uninstall all but one of them"
        )
    target = claims[0]
    module, _, attribute = target.location.partition(":")
    try:
        factory = import_module(module)
        for part in attribute.split("."):
            factory = getattr(factory, part)
    except ImportError as error:
        raise ProviderUnavailable(
            f"{kind}.{name}", f"{error}; to install what it needs: {target.remedy}"
        ) from error
    except AttributeError as error:
        raise ConfigError(f"provider {kind}.{name}: there is no {target.location}") from error
    if not isinstance(factory, ProviderFactory):
        raise ConfigError(f"provider {kind}.{name}: {target.location} is not a ProviderFactory")
    return factory


def _unknown(kind: ProviderKind, name: str) -> str:
    known = names(kind)
    message = f"there is no {kind} provider {name!r}"
    if close := get_close_matches(name.lower(), known, n=1):
        message += f", did you mean {close[0]!r}?"
    return f"{message} (known: {', '.join(known)})"


def _targets(kind: ProviderKind) -> dict[str, list[_Target]]:
    """Everything of ``kind`` by name; more than one where distributions claim the same name."""
    found = {name: [target] for (its, name), target in _BUILTIN.items() if its is kind}
    own = frozenset(found)
    for point in _installed_entry_points():
        its, _, name = point.name.partition(".")
        if its == kind and name and name not in own:
            found.setdefault(name, []).append(_Target(point.value, *_owner(point)))
    return found


def _owner(point: EntryPoint) -> tuple[str, str]:
    name = point.dist.name if point.dist is not None else point.value.partition(".")[0]
    return f"pip install --upgrade {name}", name


@cache
def _installed_entry_points() -> tuple[EntryPoint, ...]:
    """Read once: it opens the metadata of every installed distribution."""
    return tuple(entry_points(group=ENTRY_POINT_GROUP))

"""Makes the provider of a section: one, or several as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from vixio.core.errors import ProviderUnavailable
from vixio.providers import registry
from vixio.providers.fallback.availability import Place
from vixio.providers.fallback.candidates import UnavailableProvider
from vixio.providers.registry import ProviderKind
from vixio.providers.servers import server_of, without_retries

_SECONDS = 8.0
"""Limit of the time of a list where its providers have none."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A provider of a list, by its registered name; ``options``: once for each of its servers."""

    name: str
    options: Sequence[BaseModel]

    def each(self, kind: ProviderKind) -> Iterator[tuple[BaseModel, str]]:
        """Yield the options for each server, and its address where there are several."""
        factory = registry.resolve(kind, self.name)
        for options in self.options:
            if len(self.options) > 1:
                yield without_retries(options), server_of(factory, options)
            else:
                yield options, ""


def make(kind: ProviderKind, chosen: Sequence[Chosen], seconds: float | None = None) -> Any:  # noqa: ANN401 - the kind's interface, which the caller names
    """Make the provider, unstarted. ``seconds``: what a list may take as a whole.

    By default, that is the time that its first provider would have alone. Raises ConfigError;
    ProviderUnavailable if none can be made.
    """
    first = chosen[0]
    if len(chosen) == 1 and len(first.options) == 1:
        return registry.resolve(kind, first.name).create(first.options[0])
    create_shared = registry.resolve(kind, first.name).create_shared
    if len(chosen) == 1 and create_shared is not None:
        return create_shared(list(first.each(kind)))
    made: list[Any] = []
    places: list[Place] = []
    failures: list[ProviderUnavailable] = []
    for group, one in enumerate(chosen):
        for options, server in one.each(kind):
            places.append(Place(group, server))
            try:
                made.append(registry.resolve(kind, one.name).create(options))
            except ProviderUnavailable as error:
                failures.append(error)
                made.append(UnavailableProvider(one.name, error))
    if len(failures) == len(made):
        raise failures[0]
    if seconds is None:
        seconds = getattr(first.options[0], "timeout", _SECONDS)
    return _as_one(kind, made, seconds, places)


def _as_one(
    kind: ProviderKind, made: Sequence[Any], seconds: float, places: Sequence[Place]
) -> object:
    match kind:
        case ProviderKind.ASR:
            from vixio.providers.fallback.asr import FallbackASRProvider

            return FallbackASRProvider(made, seconds, places=places)
        case ProviderKind.TTS:
            from vixio.providers.fallback.tts import FallbackTTSProvider

            return FallbackTTSProvider(made, seconds, places=places)
        case ProviderKind.VISION:
            from vixio.providers.fallback.vision import FallbackVisionProvider

            return FallbackVisionProvider(made, seconds, places=places)
        case _:
            raise AssertionError(kind)  # the settings take no list of these

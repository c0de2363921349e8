"""What is tried with `vixio check --live`: providers of settings, made for it, or those in use."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, fields
from typing import Any, Generic, Protocol, TypeVar

from vixio.cli.diagnostics.providers import Startable, started
from vixio.cli.diagnostics.row import Row, numbered
from vixio.providers.agent import AgentBackend
from vixio.providers.asr import ASRProvider
from vixio.providers.tts import TTSProvider
from vixio.providers.vad import VADProvider
from vixio.providers.vision import VisionProvider
from vixio.settings import Settings

P = TypeVar("P", bound=Startable)
P_co = TypeVar("P_co", bound=Startable, covariant=True)


class Section(Protocol[P_co]):
    """A section of the settings that makes a provider."""

    def create(self) -> P_co: ...


@dataclass(frozen=True, slots=True)
class Trial(Generic[P]):
    """One provider to be tried. ``use`` returns a context that gives it, started; its name is
    noted in the row. The context raises ProviderError, ConfigError."""

    part: str
    use: Callable[[Row], AbstractAsyncContextManager[P]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """The providers of each kind, in the order of their fallback list."""

    tts: Sequence[Trial[TTSProvider]]
    vad: Sequence[Trial[VADProvider]]
    asr: Sequence[Trial[ASRProvider]]
    agent: Sequence[Trial[AgentBackend]]
    vision: Sequence[Trial[VisionProvider]]


def sorted_by_kind(trials: Iterable[tuple[str, Trial[Any]]]) -> Trials:
    """Return trials by the names of their kinds; a kind may have none."""
    found: dict[str, list[Trial[Any]]] = {each.name: [] for each in fields(Trials)}
    for kind, trial in trials:
        found[kind].append(trial)
    return Trials(**found)


def trials_of(settings: Settings, limit: float) -> Trials:
    """Return trials that make the providers of the settings, and close them.

    ``limit``: seconds for the start of each.
    """
    return Trials(
        tts=[_made(part, each, limit) for part, each in numbered(settings.tts)],
        vad=[_made(part, each, limit) for part, each in numbered(settings.vad)],
        asr=[_made(part, each, limit) for part, each in numbered(settings.asr)],
        agent=[_made(part, each, limit) for part, each in numbered(settings.agent)],
        vision=[
            _made(part, each, limit)
            for part, each in (numbered(settings.vision) if settings.vision is not None else ())
        ],
    )


def _made(part: str, section: Section[P], limit: float) -> Trial[P]:
    @asynccontextmanager
    async def use(row: Row) -> AsyncIterator[P]:
        provider = section.create()
        row.provider = provider.name
        async with started(provider, limit):
            yield provider

    return Trial(part, use)

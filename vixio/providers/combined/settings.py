"""Options of ``asr.combined``, and its factory."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from vixio.core.errors import ProviderUnavailable
from vixio.providers.asr import ASRProvider
from vixio.providers.combined.arbiter import AGREEMENT, SURE
from vixio.providers.entry import ProviderEntry
from vixio.providers.registry import ProviderFactory, ProviderKind, resolve

if TYPE_CHECKING:
    from vixio.providers.combined.provider import CombinedASRProvider

NAME: Final = "combined"
_MARGIN: Final = 0.9
"""Part of the whole time that each recogniser has by default: one that gives up first says why."""


class RecogniserEntry(ProviderEntry):
    """One of the two recognisers."""

    kind = ProviderKind.ASR
    example = "a recogniser such as pocketsphinx"

    @classmethod
    def check(cls, name: str, factory: ProviderFactory[Any, Any]) -> None:
        """Refuse another combination."""
        if name == NAME:
            raise ValueError("a combination cannot contain another one")


class CombinedSettings(BaseModel):
    """Options of the section ``asr`` when its name is ``combined``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    commands: RecogniserEntry = Field(
        default_factory=lambda: RecogniserEntry.model_validate({"name": "pocketsphinx"})
    )
    """Recogniser of the phrases that the tools and the phrase book know."""
    speech: RecogniserEntry
    """Recogniser of free speech."""
    sure: float = Field(default=SURE, ge=0.0, le=1.0)
    """Confidence of a command from which it counts without the other recogniser."""
    agreement: float = Field(default=AGREEMENT, ge=0.0, le=1.0)
    """Similarity of the words of both from which a less sure command counts."""
    timeout: float = Field(default=8.0, gt=0)
    """Seconds from the end of the audio to the words."""

    def entries(self) -> Mapping[str, RecogniserEntry]:
        """Return the two recognisers by their keys."""
        return {"commands": self.commands, "speech": self.speech}


def _create(settings: CombinedSettings) -> CombinedASRProvider:
    """Make both. Raises ProviderUnavailable if neither can be made."""
    from vixio.providers.combined.arbiter import Arbiter
    from vixio.providers.combined.provider import CombinedASRProvider
    from vixio.providers.fallback.candidates import UnavailableProvider

    made: list[ASRProvider] = []
    failures: list[ProviderUnavailable] = []
    for entry in settings.entries().values():
        try:
            made.append(entry.within(settings.timeout * _MARGIN).create())
        except ProviderUnavailable as error:
            failures.append(error)
            made.append(UnavailableProvider(entry.name, error))  # type: ignore[arg-type]  # never opened: it does not start
    if len(failures) == len(made):
        raise failures[0]
    commands, speech = made
    return CombinedASRProvider(
        commands, speech, Arbiter(settings.sure, settings.agreement), settings.timeout
    )


def _memory_mb(settings: CombinedSettings) -> int:
    return sum(
        resolve(ProviderKind.ASR, entry.name).memory_mb(entry.options)
        for entry in settings.entries().values()
    )


def _languages(settings: CombinedSettings) -> Collection[str] | None:
    """Return what either hears; None if that is unknown of one."""
    each = [
        resolve(ProviderKind.ASR, entry.name).languages(entry.options)
        for entry in settings.entries().values()
    ]
    return None if None in each else {tag for tags in each for tag in tags or ()}


FACTORY = ProviderFactory(
    settings_model=CombinedSettings, create=_create, memory_mb=_memory_mb, languages=_languages
)

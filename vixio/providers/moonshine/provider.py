"""Moonshine as an ASR provider: free English speech, punctuated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from vixio.providers.asr import SpeechHints
from vixio.providers.local_recogniser.provider import LocalRecogniser
from vixio.providers.model_path import InstalledFolder
from vixio.providers.moonshine.files import NAME, PACKAGE, of_folder, packaged
from vixio.providers.registry import ProviderFactory

if TYPE_CHECKING:
    from vixio.providers.moonshine.model import MoonshineModel


class MoonshineSettings(BaseModel):
    """Options of the section ``asr`` when its name is ``moonshine``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    folder: InstalledFolder | None = None
    """Folder of another model, or the name of an installed one. Default: that of the package."""
    threads: int = Field(default=1, ge=1, le=64)
    """CPU threads of one utterance."""
    rejection: float = Field(default=-0.9, ge=-10.0, le=0.0)
    """Mean log-probability of the words below which they are rejected; 0 rejects everything."""
    max_seconds: float = Field(default=30.0, ge=1.0, le=60.0)
    """Longest utterance; a longer one is rejected."""
    max_waiting: int = Field(default=64, ge=1, le=1024)
    """Utterances that may wait; further ones are refused."""


class MoonshineASRProvider(LocalRecogniser[None]):
    """One model for all devices; its thread takes one utterance after another."""

    name = NAME

    def __init__(self, settings: MoonshineSettings | None = None) -> None:
        """Raises ProviderUnavailable if the package is not installed."""
        self._settings = settings or MoonshineSettings()
        super().__init__(
            max_seconds=self._settings.max_seconds, max_waiting=self._settings.max_waiting
        )
        if self._settings.folder is None:
            PACKAGE.folder()

    def load(self) -> MoonshineModel:
        """Return the model of the verified files. Raises ProviderUnavailable."""
        from vixio.providers.moonshine.model import MoonshineModel

        folder = self._settings.folder
        return MoonshineModel(
            packaged() if folder is None else of_folder(folder),
            threads=self._settings.threads,
            rejection=self._settings.rejection,
        )

    def request(self, hints: SpeechHints) -> None:
        """The model takes no hints."""


FACTORY = ProviderFactory(
    settings_model=MoonshineSettings,
    create=MoonshineASRProvider,
    memory_mb=lambda _: 130,  # measured by vixio bench speech
    languages=lambda _: ("en",),
)

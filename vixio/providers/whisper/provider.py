"""Whisper as an ASR provider: free speech in 99 languages."""

from __future__ import annotations

from collections.abc import Collection
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, ConfigDict, Field

from vixio.core.errors import ProviderUnavailable
from vixio.core.extras import how_to_install
from vixio.providers.asr import SpeechHints
from vixio.providers.inference.memory import models_mb
from vixio.providers.local_recogniser.provider import LocalRecogniser
from vixio.providers.model_path import InstalledFolder
from vixio.providers.registry import ProviderFactory
from vixio.providers.whisper.files import NAME, SIZE, installed, packaged

if TYPE_CHECKING:
    from vixio.providers.whisper.model import WhisperModel

_CODES: Final = """
af am ar as az ba be bg bn bo br bs ca cs cy da de el en es et eu fa fi fo fr gl gu ha haw he hi hr
ht hu hy id is it ja jw ka kk km kn ko la lb ln lo lt lv mg mi mk ml mn mr ms mt my ne nl nn no oc
pa pl ps pt ro ru sa sd si sk sl sn so sq sr su sv sw ta te tg th tk tl tr tt uk ur uz vi yi yo zh
"""

LANGUAGES: Final = frozenset(_CODES.split())
"""Those of the models of all sizes: ``LANGUAGES`` in whisper/tokenizer.py of openai-whisper."""


class WhisperSettings(BaseModel):
    """Options of the section ``asr`` when its name is ``whisper``."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    model: InstalledFolder | None = None
    """Folder of a model that is converted for CTranslate2, or the name of an installed one.

    Default: base, from its packages.
    """
    language: str = ""
    """Spoken language (``zh``, ``en-GB``, …). Empty: that of the device's profile."""
    threads: int = Field(default=2, ge=1, le=64)
    """CPU threads of one utterance."""
    beam_size: int = Field(default=1, ge=1, le=10)
    """Hypotheses that are followed; more are slower and a little more accurate."""
    rejection: float = Field(default=-1.0, ge=-10.0, le=0.0)
    """Mean log-probability of the words below which they are rejected; 0 rejects everything."""
    no_speech: float = Field(default=0.6, ge=0.0, le=1.0)
    """Probability of "no speech" from which words of a low probability are none."""
    max_seconds: float = Field(default=29.0, ge=1.0, le=60.0)
    """Longest utterance; a longer one is rejected."""
    max_waiting: int = Field(default=16, ge=1, le=1024)
    """Utterances that may wait; further ones are refused."""


class WhisperASRProvider(LocalRecogniser[str]):
    """One model for all devices; its thread takes one utterance after another."""

    name = NAME

    def __init__(self, settings: WhisperSettings | None = None) -> None:
        """Raises ProviderUnavailable if a package is not installed."""
        self._settings = settings or WhisperSettings()
        super().__init__(
            max_seconds=self._settings.max_seconds, max_waiting=self._settings.max_waiting
        )
        if find_spec("faster_whisper") is None:
            raise ProviderUnavailable(
                NAME, f"faster-whisper is not installed: {how_to_install('whisper')}"
            )
        if self._settings.model is None:
            installed()

    def load(self) -> WhisperModel:
        """Return the model. Raises ProviderUnavailable."""
        if self._settings.model is not None:
            return self._load(self._settings.model)
        with packaged() as folder:
            return self._load(folder)

    def _load(self, folder: Path) -> WhisperModel:
        from vixio.providers.whisper.model import WhisperModel

        settings = self._settings
        return WhisperModel(
            folder,
            threads=settings.threads,
            beam=settings.beam_size,
            rejection=settings.rejection,
            no_speech=settings.no_speech,
        )

    def request(self, hints: SpeechHints) -> str:
        """Return the language to expect."""
        return self._settings.language or hints.language


def _memory_mb(settings: WhisperSettings) -> int:
    if settings.model is None:
        return 100 + SIZE // (1024 * 1024)
    return 50 + models_mb([settings.model.expanduser() / "model.bin"])


def _languages(settings: WhisperSettings) -> Collection[str] | None:
    if settings.language:
        return (settings.language,)
    return LANGUAGES if settings.model is None else None  # another model may be English only


FACTORY = ProviderFactory(
    settings_model=WhisperSettings,
    create=WhisperASRProvider,
    memory_mb=_memory_mb,
    languages=_languages,
)

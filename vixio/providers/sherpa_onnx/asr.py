"""sherpa-onnx as an ASR provider."""

from __future__ import annotations

from collections.abc import Sequence

from vixio.providers.asr import SpeechHints
from vixio.providers.inference.memory import models_mb
from vixio.providers.local_recogniser.provider import LocalRecogniser
from vixio.providers.registry import ProviderFactory
from vixio.providers.sherpa_onnx.asr_kinds import KINDS, SENSE_VOICE, detect, files_of
from vixio.providers.sherpa_onnx.asr_model import (
    SherpaOfflineModel,
    SherpaOnlineModel,
    load,
    warm_up,
)
from vixio.providers.sherpa_onnx.asr_settings import SherpaASRSettings
from vixio.providers.sherpa_onnx.folder import NAME, ModelFolder
from vixio.providers.sherpa_onnx.trial import try_first
from vixio.providers.tool_words import tool_words


class SherpaASRProvider(LocalRecogniser[Sequence[str]]):
    """One model of the library; it is told the words to expect."""

    name = NAME

    def __init__(self, settings: SherpaASRSettings) -> None:
        super().__init__(
            max_seconds=settings.max_seconds,
            max_waiting=settings.max_waiting,
            max_batch=settings.max_batch,
        )
        self._settings = settings

    async def before_load(self) -> None:
        """Load the model in a process of its own, unless the settings say not to."""
        if self._settings.try_first:
            await try_first("asr", self._settings.folder, self._settings.model_dump_json())

    def load(self) -> SherpaOfflineModel | SherpaOnlineModel:
        """Return the model, warmed up. Called in a thread. Raises ProviderUnavailable."""
        model = load(self._settings)
        warm_up(model)
        return model

    def request(self, hints: SpeechHints) -> Sequence[str]:
        """Return the words to expect: hotwords, and those of the tools if configured."""
        settings = self._settings
        return [*settings.hotwords, *(tool_words(hints.tools) if settings.tool_words else ())]


def _create(settings: SherpaASRSettings) -> SherpaASRProvider:
    return SherpaASRProvider(settings)


def _languages(settings: SherpaASRSettings) -> tuple[str, ...] | None:
    folder = ModelFolder(settings.folder, int8=settings.int8)
    kind = detect(folder) if settings.kind == "auto" else KINDS[settings.kind]
    if kind.name in {"sense-voice", "whisper"} and settings.language:
        return (settings.language,)
    if kind.name == "sense-voice":
        return SENSE_VOICE
    if kind.name == "whisper":
        encoder = next(iter(files_of(kind, folder).values()))
        return ("en",) if folder.header(encoder).metadata.get("is_multilingual") == "0" else None
    return ("en",) if kind.name == "moonshine" else None


FACTORY = ProviderFactory(
    settings_model=SherpaASRSettings,
    create=_create,
    memory_mb=lambda settings: models_mb(settings.folder.glob("*.onnx")),
    languages=_languages,
)

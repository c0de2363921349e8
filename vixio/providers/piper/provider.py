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
from vixio.providers.local_voice.provider import LocalVoiceProvider
from vixio.providers.registry import ProviderFactory

NAME = "piper"
_INSTALL = "pip install 'vixio[piper]'"
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

    def __init__(self, voice: Any, how: Any) -> None:  # noqa: ANN401 - the optional package is untyped
        self._voice = voice
        self._how = how
        self.sample_rate: int = voice.config.sample_rate

    def speak(self, text: str, write: Callable[[npt.NDArray[np.float32]], bool]) -> None:
        """Pass each sentence to ``write`` as soon as it is synthesised."""
        # Piper reads text in double brackets as phonemes.
        spoken = text.replace("[[", "[ [")
        for chunk in self._voice.synthesize(spoken, self._how):
            if not write(chunk.audio_float_array):
                return

    def close(self) -> None:
        """Do nothing: the voice holds only memory."""


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
            raise ProviderUnavailable(NAME, f"Piper is not installed: {_INSTALL}") from error
        # Below ERROR it logs the texts, and the letters without a phoneme.
        logging.getLogger("piper").setLevel(logging.ERROR)
        try:
            described = PiperConfig.from_dict(json.loads(config.read_text("utf-8")))
        except (ValueError, KeyError, TypeError) as error:
            raise ProviderUnavailable(
                NAME, f"{config} does not describe a voice ({type(error).__name__}): {_DOWNLOAD}"
            ) from error
        voice = PiperLocalVoice(
            PiperVoice(config=described, session=_session(model, settings.threads)),
            SynthesisConfig(
                speaker_id=_speaker(settings.speaker, described),
                length_scale=settings.length_scale,
                noise_scale=settings.noise_scale,
                noise_w_scale=settings.noise_w_scale,
                volume=settings.volume,
            ),
        )
        _warm_up(voice)
        return voice


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


FACTORY = ProviderFactory(settings_model=PiperSettings, create=_create)

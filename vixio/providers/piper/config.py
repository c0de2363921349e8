"""The JSON file that describes a voice of Piper's.

Its keys are those of https://github.com/rhasspy/piper (MIT) and its successor, whose voices have a
few more.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from pydantic import BaseModel, Field, ValidationError

PAD, BEGIN, END = "_", "^", "$"
"""Symbols of every voice: between two phonemes, before the first, after the last."""

KINDS: Final = ("espeak", "text")
"""Of phonemes: those of eSpeak NG, or letters."""


class VoiceError(ValueError):
    """Why a file describes no voice that can be used; one line."""


class _Audio(BaseModel):
    sample_rate: int = Field(ge=8_000, le=48_000)


class _Espeak(BaseModel):
    voice: str


class _Language(BaseModel):
    code: str = ""


class _Inference(BaseModel):
    noise_scale: float = 0.667
    length_scale: float = 1.0
    noise_w: float = 0.8


class PiperVoiceConfig(BaseModel):
    """What is used of the description; other keys are ignored."""

    audio: _Audio
    espeak: _Espeak
    inference: _Inference = _Inference()
    language: _Language = _Language()
    phoneme_type: str = "espeak"
    phoneme_id_map: dict[str, list[int]]
    num_speakers: int = 1
    speaker_id_map: dict[str, int] = {}
    default_speaker_id: int = 0
    vowel_clusters: list[list[str]] = []
    """Sequences of phonemes that are one symbol."""

    def ids(self, phonemes: list[str]) -> list[int]:
        """Return the numbers of ``phonemes``; a phoneme that the voice does not know is left out.

        A pad stands after each symbol but the last, as in the voices' training.
        """
        numbers = self.phoneme_id_map
        found = [*numbers[BEGIN], *numbers[PAD]]
        for phoneme in phonemes:
            if known := numbers.get(phoneme):
                found += [*known, *numbers[PAD]]
        return found + numbers[END]


def read_config(path: Path) -> PiperVoiceConfig:
    """Return the description in the file ``path``. Blocking. Raises VoiceError, OSError."""
    try:
        config = PiperVoiceConfig.model_validate(json.loads(path.read_text("utf-8")))
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"]))
        raise VoiceError(f"{path} does not describe a voice ({place})") from error
    except ValueError as error:  # no JSON, or no text
        raise VoiceError(f"{path} does not describe a voice ({type(error).__name__})") from error
    if missing := [each for each in (PAD, BEGIN, END) if each not in config.phoneme_id_map]:
        raise VoiceError(f"{path} does not describe a voice (no symbol {missing[0]})")
    if config.phoneme_type not in KINDS:
        raise VoiceError(
            f"{path} describes a voice with phonemes of the kind {config.phoneme_type!r}, which "
            f"only Piper itself makes; Vixio speaks with voices of the kinds {' and '.join(KINDS)}"
        )
    return config

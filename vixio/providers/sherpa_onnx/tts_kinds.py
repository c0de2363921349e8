"""The kinds of voice: their files, and the metadata that they need.

The names of the metadata are those of ``sherpa-onnx/csrc/offline-tts-*-model.cc``. The library
aborts the process where one is missing, so it is checked before.

Since 2.0 the library does not contain eSpeak NG, so a voice that was trained on its phonemes and
has no ``lexicon.txt`` gets phonemes instead of text.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from vixio.providers.sherpa_onnx.folder import ModelFolder

VoiceKindName = Literal["auto", "vits", "kokoro", "matcha", "kitten"]

_VOCODER = r"(.*[-_])?(vocos|hifigan)[-_.].*onnx"
_VOCODERS = ("hifigan", "vocos", "matcha-tts vocos")
_ACOUSTIC = r"(.*[-_.])?model.*\.onnx"
_LANGUAGES = {"english": "en-us", "chinese": "cmn", "german": "de", "french": "fr"}
"""Voice of eSpeak NG for a model that names a language but no voice."""
_KEYS = {
    "vits": ("sample_rate", "n_speakers", "language", "comment"),
    "kokoro": ("sample_rate", "n_speakers", "has_espeak", "style_dim"),
    "matcha": ("sample_rate", "n_speakers", "use_eos_bos", "pad_id"),
    "kitten": ("model_type", "sample_rate", "n_speakers", "has_espeak", "style_dim"),
}


@dataclass(frozen=True, slots=True)
class VoiceFiles:
    """The checked files of a voice.

    ``arguments``: of the library's configuration for its kind. ``phonemes``: the voice of eSpeak NG
    that makes the phonemes; empty for a voice that takes text. ``languages``: as the model says.
    """

    kind: str
    arguments: dict[str, str] = field(default_factory=dict)
    rule_fsts: str = ""
    rule_fars: str = ""
    speakers: int = 1
    phonemes: str = ""
    languages: tuple[str, ...] = ()


def voice_files(folder: ModelFolder, kind: str = "auto") -> VoiceFiles:
    """Find and check the files of a voice. Raises ProviderUnavailable with what is missing."""
    vocoder = folder.find(_VOCODER)
    model = _model(folder, vocoder)
    said = folder.header(model).metadata
    if kind == "auto":
        kind = _kind(folder, vocoder, said.get("model_type", ""))
    missing = [key for key in _KEYS[kind] if not said.get(key)]
    if missing:
        raise folder.error(f"holds no {kind} voice: {model.name} does not say {', '.join(missing)}")
    for key in ("sample_rate", "n_speakers"):
        if not said[key].isdigit():
            raise folder.error(f"holds no {kind} voice: the {key} of {model.name} is no number")
    speakers = max(1, int(said["n_speakers"]))
    arguments = {"tokens": str(folder.tokens())}
    if kind == "matcha":
        if vocoder is None:
            raise folder.error("has no vocoder (vocos-….onnx or hifigan_….onnx, a file of its own)")
        if folder.header(vocoder).metadata.get("model_type") not in _VOCODERS:
            raise folder.error(f"has {vocoder.name}, which is no vocoder of sherpa-onnx's")
        arguments |= {"acoustic_model": str(model), "vocoder": str(vocoder)}
    else:
        arguments["model"] = str(model)
    if kind in {"kokoro", "kitten"}:
        voices = folder.require(r"voices.*\.bin", "voices.bin")
        _check_voices(folder, voices, said["style_dim"], speakers)
        arguments["voices"] = str(voices)
    lexicons = ",".join(map(str, folder.all(r"lexicon.*\.txt")))
    if lexicons:
        arguments["lexicon"] = lexicons
    spelt = kind == "vits" and said.get("frontend") == "characters"
    language = said.get("language", "").lower()
    phonemes = said.get("voice") or _LANGUAGES.get(language, language or "en-us")
    return VoiceFiles(
        kind,
        arguments,
        rule_fsts=",".join(map(str, folder.all(r".*\.fst"))),
        rule_fars=",".join(map(str, folder.all(r".*\.far"))),
        speakers=speakers,
        phonemes="" if spelt or lexicons else phonemes,
        languages=_languages(said.get("voice", ""), language),
    )


def _languages(voice: str, named: str) -> tuple[str, ...]:
    """Return the tags for ``voice``, of eSpeak NG, or for a text as "Chinese + English" or "it".

    Empty if the model says that it has several languages, but not which ones.
    """
    if "multi" in named:
        return ()
    found = tuple(tag for name, tag in _LANGUAGES.items() if name in named)
    if len(found) < 2 and voice:
        return (voice,)
    return found or ((named,) if len(named) in {2, 3} else ())


def _check_voices(folder: ModelFolder, voices: Path, style_dim: str, speakers: int) -> None:
    """Raise if the file does not have one style of that size for each speaker: truncated."""
    sizes = [int(each) if each.strip().isdigit() else 0 for each in style_dim.split(",")]
    if len(sizes) != 3 or voices.stat().st_size != 4 * math.prod(sizes) * speakers:
        raise folder.error(f"has a {voices.name} that does not fit its model")


def _model(folder: ModelFolder, vocoder: Path | None) -> Path:
    found = folder.find(_ACOUSTIC)
    if found is not None:
        return found
    others = [each for each in folder.all(r".*\.onnx") if each != vocoder]
    if len(others) == 1:  # en_US-amy-low.onnx and the like
        return others[0]
    raise folder.error("has no model.onnx" if not others else "has several models, none model.onnx")


def _kind(folder: ModelFolder, vocoder: Path | None, model_type: str) -> str:
    if vocoder is not None or model_type.startswith("matcha"):
        return "matcha"
    if folder.find(r"voices.*\.bin") is not None:
        return "kitten" if model_type.startswith("kitten") else "kokoro"
    return "vits"

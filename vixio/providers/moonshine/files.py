"""The files of a Moonshine model: those inside the package ``moonshine-voice``, or of a folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from vixio.core.errors import ProviderUnavailable
from vixio.providers.inference.packaged import ModelPackage, PackagedFile

NAME: Final = "moonshine"

_TINY: Final = "assets/tiny-en"

PACKAGE: Final = ModelPackage(
    provider=NAME,
    module="moonshine_voice",
    requirement="moonshine-voice==0.0.49",
    extra="moonshine",
    files=(
        PackagedFile(
            f"{_TINY}/encoder_model.ort",
            13_281_600,
            "94e90a4654fc45cdfedb77c4c08e1739f48862998e58fada384b25118134f221",
        ),
        PackagedFile(
            f"{_TINY}/decoder_model_merged.ort",
            30_412_256,
            "cf524c4862d36e9e5ab032eddc73637efd822d70e868ac575cf1a46e1e4708a0",
        ),
        PackagedFile(
            f"{_TINY}/tokenizer.bin",
            249_974,
            "6884b35fd6377d4c4d32336a0bc152f36b64d1e45b6503683cdc238250a8472d",
        ),
    ),
)
"""The model ``tiny`` for English, under the MIT licence as the package is."""


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """Paths of the parts."""

    encoder: Path
    decoder: Path
    tokenizer: Path


def packaged() -> ModelFiles:
    """Return the verified files of the package. Blocking. Raises ProviderUnavailable."""
    return ModelFiles(*PACKAGE.verified())


def of_folder(folder: Path) -> ModelFiles:
    """Return the files of another model, ``.ort`` or ``.onnx``. Raises ProviderUnavailable."""
    folder = folder.expanduser()
    return ModelFiles(
        _existing(folder, "encoder_model.ort", "encoder_model.onnx"),
        _existing(folder, "decoder_model_merged.ort", "decoder_model_merged.onnx"),
        _existing(folder, "tokenizer.bin"),
    )


def _existing(folder: Path, *names: str) -> Path:
    for name in names:
        if (path := folder / name).is_file():
            return path
    raise ProviderUnavailable(NAME, f"{folder} has no {' or '.join(names)}: put a model there")

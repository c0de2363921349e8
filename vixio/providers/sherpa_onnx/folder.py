"""The folder of an unpacked model, and how its files are found."""

from __future__ import annotations

import re
from pathlib import Path

from vixio.core.errors import ProviderUnavailable
from vixio.providers.sherpa_onnx.onnx_header import OnnxHeader, OnnxHeaderError, read_header

NAME = "sherpa-onnx"
_LISTED = 12


class ModelFolder:
    """The files of one model. Blocking: reads the disk. Raises ProviderUnavailable."""

    def __init__(self, path: Path, *, int8: bool = True) -> None:
        """``int8``: use the int8 file where the folder has both precisions."""
        self.path = path.expanduser()
        self._int8 = int8
        if not self.path.is_dir():
            raise ProviderUnavailable(
                NAME, f"there is no folder {path}; `vixio models` lists models and fetches them"
            )
        self._files = sorted(each for each in self.path.iterdir() if each.is_file())

    def find(self, pattern: str) -> Path | None:
        """Return the file with the shortest name that matches the whole of ``pattern``, or None."""
        found = self.all(pattern)
        wanted = [each for each in found if ("int8" in each.name.lower()) is self._int8]
        return min(wanted or found, key=lambda each: (len(each.name), each.name), default=None)

    def require(self, pattern: str, what: str) -> Path:
        """Return the file, or raise with its usual name, ``what``, and the folder's content."""
        found = self.find(pattern)
        if found is None:
            raise self.error(f"has no {what}")
        return found

    def all(self, pattern: str) -> list[Path]:
        """Return the files whose names match the whole of ``pattern``, sorted."""
        return [each for each in self._files if re.fullmatch(pattern, each.name.lower())]

    def directory(self, name: str) -> Path | None:
        """Return the subfolder ``name``, None if it does not exist."""
        path = self.path / name
        return path if path.is_dir() else None

    def error(self, what: str) -> ProviderUnavailable:
        """Return an error about this folder, with ``what`` and a list of its files."""
        names = [each.name for each in self._files]
        listed = ", ".join(names[:_LISTED]) + (", …" if len(names) > _LISTED else "")
        return ProviderUnavailable(NAME, f"{self.path} {what}; it holds: {listed or 'nothing'}")

    def header(self, path: Path) -> OnnxHeader:
        """Return the header of the model at ``path``."""
        try:
            return read_header(path)
        except (OnnxHeaderError, OSError) as error:
            raise ProviderUnavailable(NAME, f"cannot read {path}: {error}") from error

    def tokens(self) -> Path:
        """Return the file with the model's symbols."""
        return self.require(r"(.*[-_])?tokens\.txt", "tokens.txt")

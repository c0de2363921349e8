"""Models that come inside a package of the index: where their files are, and whether they are those
that were tested.

Such packages are uploads of single maintainers, so the files are pinned by their digests here.
"""

from __future__ import annotations

import hashlib
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from vixio.core.errors import ProviderUnavailable
from vixio.core.extras import Extra, how_to_install

_BLOCK: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class PackagedFile:
    """One file. ``path``: below the package's folder; ``size`` in bytes."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ModelPackage:
    """A package with model files. ``module``: its import name, which is never imported.

    ``provider``: named in errors; ``extra``: the one that installs it.
    """

    provider: str
    module: str
    requirement: str
    """Of pip, with the version that was tested."""
    extra: Extra
    files: tuple[PackagedFile, ...]

    def folder(self) -> Path:
        """Return the package's folder. Raises ProviderUnavailable if it is not installed."""
        spec = find_spec(self.module)
        if spec is None or not spec.submodule_search_locations:
            raise ProviderUnavailable(
                self.provider,
                f"the package {self.requirement} is missing: {how_to_install(self.extra)}",
            )
        return Path(next(iter(spec.submodule_search_locations)))

    def verified(self) -> list[Path]:
        """Return the files, each with the size and the digest that are expected.

        Blocking: reads all of them, 100 MB in a few tenths of a second. Raises ProviderUnavailable.
        """
        folder = self.folder()
        found = [folder / file.path for file in self.files]
        for path, file in zip(found, self.files, strict=True):
            if (reason := difference(path, file)) is not None:
                raise ProviderUnavailable(
                    self.provider,
                    f"{path} {reason}; the one that was tested: {self._how_to_replace()}",
                )
        return found

    def _how_to_replace(self) -> str:
        """Return a command; installing the extra keeps a package of the right version."""
        pip = [sys.executable, "-m", "pip", "install", "--force-reinstall", "--no-deps"]
        return shlex.join([*pip, self.requirement])


@contextmanager
def joined(provider: str, name: str, parts: Sequence[Path], *others: Path) -> Iterator[Path]:
    """Yield a temporary folder with the file ``name``, joined from ``parts``, and with ``others``.

    An index limits the size of a file, so models come in parts. The folder is there while the model
    is loaded: no second copy stays on the disk, and none in memory as for bytes. Blocking, half a
    second for 100 MB. Raises ProviderUnavailable, named ``provider``, if it cannot be written.
    """
    with ExitStack() as stack:
        try:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix=f"vixio-{provider}-")))
            with (folder / name).open("wb") as whole:
                for part in parts:
                    with part.open("rb") as piece:
                        shutil.copyfileobj(piece, whole, _BLOCK)
            for path in others:
                shutil.copyfile(path, folder / path.name)
        except OSError as error:
            megabytes = sum(path.stat().st_size for path in (*parts, *others)) // 1_000_000 + 1
            raise ProviderUnavailable(
                provider,
                f"cannot write its model of {megabytes} MB to a temporary folder "
                f"({error.strerror or error}): make room, or set TMPDIR to another folder",
            ) from error
        yield folder


def difference(path: Path, expected: PackagedFile) -> str | None:
    """Return what tells the file at ``path`` from the expected one; None: nothing. Blocking."""
    try:
        size = path.stat().st_size
        if size != expected.size:
            return f"has {size} bytes instead of {expected.size}"
        if digest(path) != expected.sha256:
            return "has another SHA-256 digest"
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    return None


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal. Blocking."""
    total = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            total.update(block)
    return total.hexdigest()

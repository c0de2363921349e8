"""The file: a gzipped tar of JSON lines and plain files, with a manifest of their digests.

The manifest is the last member, so a file that was cut off is noticed. Nothing is unpacked by its
name: members are looked up, and what is not in the manifest is not read.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self

from vixio import __version__
from vixio.core.errors import VixioError

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"

SPOOL_BYTES: Final = 4 * 2**20
"""Of JSON lines that are kept in memory; more goes to a temporary file."""

_PIECE: Final = 256 * 1024


class BackupError(VixioError):
    """A backup that cannot be written or read. The message is one line, with the remedy."""


class ArchiveWriter:
    """Writes beside ``path``, which appears when all of it is on the disk. Readable by its owner.

    Use as a context; blocking. Raises BackupError.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._digests: dict[str, str] = {}

    def __enter__(self) -> Self:
        folder = self._path.parent
        try:
            descriptor, name = tempfile.mkstemp(prefix=f".{self._path.name}.", dir=folder)
        except OSError as error:
            raise BackupError(f"{self._path}: {error.strerror}") from None
        self._part = Path(name)
        self._file = os.fdopen(descriptor, "wb")
        self._packed = gzip.GzipFile("", "wb", 6, self._file)
        self._tar = tarfile.open(fileobj=self._packed, mode="w|")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._close()
        except OSError as failure:
            raise BackupError(f"{self._path}: {failure.strerror}") from None
        finally:
            self._file.close()
            with suppress(FileNotFoundError):
                self._part.unlink()

    def add_lines(self, name: str, rows: Iterable[Mapping[str, Any]]) -> int:
        """Add JSON objects, one a line; return how many."""
        number = 0
        with tempfile.SpooledTemporaryFile(SPOOL_BYTES) as file:
            for row in rows:
                file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
                number += 1
            self._add(name, file, file.tell())
        return number

    def add_file(self, name: str, path: Path) -> None:
        """Add a file."""
        try:
            with path.open("rb") as file:
                self._add(name, file, os.fstat(file.fileno()).st_size)
        except OSError as error:
            raise BackupError(f"{path}: {error.strerror}") from None

    def _add(self, name: str, file: IO[bytes], size: int) -> None:
        file.seek(0)
        info = tarfile.TarInfo(name)
        info.size, info.mode = size, 0o600
        digest = hashlib.sha256()
        self._tar.addfile(info, _Hashing(file, digest))
        self._digests[name] = digest.hexdigest()

    def _close(self) -> None:
        manifest = {"format": FORMAT, "vixio": __version__, "files": self._digests}
        text = json.dumps(manifest, indent=1).encode()
        info = tarfile.TarInfo(MANIFEST)
        info.size, info.mode = len(text), 0o600
        self._tar.addfile(info, io.BytesIO(text))
        self._tar.close()
        self._packed.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._part.replace(self._path)


class _Hashing:
    """A file whose content is hashed while it is read."""

    def __init__(self, file: IO[bytes], digest: hashlib._Hash) -> None:
        self._file = file
        self._digest = digest

    def read(self, size: int = -1) -> bytes:
        piece = self._file.read(size)
        self._digest.update(piece)
        return piece


class ArchiveReader:
    """A backup whose digests are right. Blocking; raises BackupError."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._opened() as tar:
            digests = {member.name: _digest(tar, member) for member in tar if member.isfile()}
        manifest = self._manifest()
        self.names: tuple[str, ...] = tuple(manifest["files"])
        for name, digest in manifest["files"].items():
            if digests.get(name) != digest:
                raise BackupError(f"{path}: {name} is damaged or missing; take another backup")

    def lines(self, name: str) -> Iterator[dict[str, Any]]:
        """Return the objects of a member; none where there is no such member."""
        if name not in self.names:
            return
        with self._opened() as tar, self._member(tar, name) as file:
            for line in file:
                yield json.loads(line)

    def copy(self, name: str, to: Path) -> None:
        """Write a member to a new file, which only its owner can read."""
        descriptor = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file, self._opened() as tar:
            with self._member(tar, name) as member:
                while piece := member.read(_PIECE):
                    file.write(piece)
            file.flush()
            os.fsync(file.fileno())

    @contextmanager
    def _opened(self) -> Iterator[tarfile.TarFile]:
        try:
            with tarfile.open(self._path, "r:gz") as tar:
                yield tar
        except FileNotFoundError:
            raise BackupError(f"{self._path}: no such file") from None
        except (OSError, EOFError, tarfile.TarError) as error:
            reason = getattr(error, "strerror", None) or "no backup, or cut off"
            raise BackupError(f"{self._path}: {reason}") from None

    @staticmethod
    def _member(tar: tarfile.TarFile, name: str) -> IO[bytes]:
        file = tar.extractfile(name)
        assert file is not None  # noqa: S101 - a regular file, by the first look
        return file

    def _manifest(self) -> dict[str, Any]:
        with self._opened() as tar:
            try:
                with self._member(tar, MANIFEST) as file:
                    manifest = json.load(file)
            except (KeyError, ValueError, RecursionError):
                raise BackupError(f"{self._path}: no backup of Vixio, or cut off") from None
        match manifest:
            case {"format": int(found)} if found != FORMAT:
                raise BackupError(f"{self._path}: written by a newer Vixio: update this one")
            case {"format": _, "files": dict()}:
                return dict(manifest)
        raise BackupError(f"{self._path}: no backup of Vixio")


def _digest(tar: tarfile.TarFile, member: tarfile.TarInfo) -> str:
    digest = hashlib.sha256()
    file = tar.extractfile(member)
    assert file is not None  # noqa: S101 - isfile()
    while piece := file.read(_PIECE):
        digest.update(piece)
    return digest.hexdigest()

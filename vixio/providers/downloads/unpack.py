"""Takes the files of a model out of an archive that may be hostile.

Nothing is extracted by the archive's own paths: the wanted members are found by their names, and
their contents written where the caller says. Links, devices and all other members are passed over.
What is decompressed in all, and of each member, is bounded.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
import threading
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from vixio.providers.downloads.digests import Stopped
from vixio.providers.downloads.errors import Trouble

_PIECE = 1024 * 1024

_RATIO = 20
"""Weights are hardly compressed, and lexicons to a tenth. Of a bomb it is a thousand or more."""

_SPARE = 64 * 1024 * 1024

_LONGEST_HEADER = 64 * 1024
"""Bytes of a name or of attributes, which tarfile reads into memory."""

_OPEN: Mapping[str, Callable[[Path], object]] = {
    ".bz2": bz2.open,
    ".gz": gzip.open,
    ".xz": lzma.open,
    ".tar": lambda path: path.open("rb"),
}


@dataclass(frozen=True, slots=True)
class Target:
    """Where a member goes. ``most``: bytes beyond which it is refused."""

    path: Path
    most: int


class _Source:
    """What tarfile reads: counts, and ends when it is too much or when it is told to stop."""

    def __init__(self, file: IO[bytes], most: int, stop: threading.Event) -> None:
        self._file = file
        self._left = most
        self._stop = stop

    def read(self, size: int = -1) -> bytes:
        if self._stop.is_set():
            raise Stopped
        data = self._file.read(min(size, _PIECE) if size >= 0 else _PIECE)
        self._left -= len(data)
        if self._left < 0:
            raise Trouble("an archive that unpacks to far more than it should")
        return data


class _Member(tarfile.TarInfo):
    """A header whose further headers are of bounded size."""

    # The documented hook for subclasses (tarfile.py, "The entry point is _proc_member").
    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if not (self.isreg() or self.isdir() or self.issym() or self.islnk() or self.isdev()) and (
            self.size > _LONGEST_HEADER
        ):
            raise tarfile.ReadError("a header is too long")
        found = super()._proc_member(archive)  # type: ignore[misc] # not in typeshed
        return cast("tarfile.TarInfo", found)


def unpack(
    archive: Path,
    wanted: Mapping[str, Target],
    stop: threading.Event,
    on_bytes: Callable[[int], None],
) -> None:
    """Write the members ``wanted``, by name. ``on_bytes``: called with the bytes written so far.

    Raises Trouble when the archive lacks one or is broken, Stopped when ``stop`` is set, and
    OSError.
    """
    opener = _OPEN.get(archive.suffix)
    if opener is None:
        raise Trouble(f"an archive of an unknown kind: {archive.name}")
    left = dict(wanted)
    written = 0
    try:
        with cast("IO[bytes]", opener(archive)) as file:
            source = _Source(file, archive.stat().st_size * _RATIO + _SPARE, stop)
            with tarfile.open(
                fileobj=cast("IO[bytes]", source), mode="r|", tarinfo=_Member
            ) as members:
                for member in members:
                    target = left.get(member.name.removeprefix("./"))
                    if target is None or not member.isreg():
                        continue
                    if member.size > target.most:
                        raise Trouble(f"an archive in which {member.name} is far too large")
                    content = members.extractfile(member)
                    assert content is not None  # noqa: S101 - a regular file
                    with target.path.open("wb") as out:
                        while piece := content.read(_PIECE):
                            out.write(piece)
                            written += len(piece)
                            on_bytes(written)
                    del left[member.name.removeprefix("./")]
                    if not left:
                        return
    except (tarfile.TarError, EOFError, lzma.LZMAError, zlib.error, ValueError) as error:
        raise Trouble(f"a broken archive ({error})") from None
    except OSError as error:
        # bz2 and gzip tell broken data by an OSError without a number.
        if error.errno is None:
            raise Trouble(f"a broken archive ({error})") from None
        raise
    raise Trouble(f"an archive without {', '.join(sorted(left))}")

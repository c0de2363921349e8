"""The folder of installed models.

``NAME/`` is a whole model: its files, and ``vixio-model.json`` with their digests.
``.partial/NAME`` is one that is being fetched, ``.partial/NAME.lock`` keeps two commands apart. A
model appears under its name by one rename, when everything is verified, and disappears by one.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import json
import os
import re
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from vixio.providers.downloads.catalogue import MANIFEST, NAME_PATTERN
from vixio.providers.downloads.digests import digest_of
from vixio.providers.downloads.errors import ModelError, disk_error

_NAME = re.compile(NAME_PATTERN)
_FORMAT = 1
_PARTIAL = ".partial"
_WAIT = 0.2
"""Seconds between two looks at a lock that another process holds; the system wakes nobody."""

Checked = Literal["catalogue", "hub", "size", "nothing"]
"""By what a file was verified: a pinned digest, the hub's, its size alone, or nothing at all."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of an installed model."""

    name: str
    size: int
    sha256: str
    checked: Checked


@dataclass(frozen=True, slots=True)
class Installed:
    """A whole model. ``source``: the host that it came from."""

    name: str
    folder: Path
    source: str
    files: tuple[StoredFile, ...]

    @property
    def size(self) -> int:
        """Bytes on disk, as they were installed."""
        return sum(file.size for file in self.files)


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a file of an installed model."""

    file: str
    what: str


class ModelStore:
    """The models below ``folder``, which need not exist."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.expanduser().absolute()

    def place(self, name: str) -> Path:
        """Return the folder that a model has, or will have. Raises ModelError for no name."""
        if not _NAME.fullmatch(name):
            raise ModelError(f"{name!r} is no name of a model")
        return self.folder / name

    def staging(self, name: str) -> Path:
        """Return the folder of a model that is being fetched."""
        return self.folder / _PARTIAL / self.place(name).name

    def installed(self) -> dict[str, Installed]:
        """Return the whole models by name. Blocking. Raises ModelError."""
        try:
            names = sorted(each.name for each in self.folder.iterdir() if each.is_dir())
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise ModelError(f"cannot read {self.folder}: {error.strerror}") from None
        found = (self.get(name) for name in names if _NAME.fullmatch(name))
        return {model.name: model for model in found if model is not None}

    def get(self, name: str) -> Installed | None:
        """Return an installed model, None if there is none. Blocking. Raises ModelError."""
        folder = self.place(name)
        try:
            said = json.loads((folder / MANIFEST).read_text("utf-8"))
            files = tuple(
                StoredFile(str(each["name"]), int(each["size"]), each["sha256"], each["checked"])
                for each in said["files"]
            )
            return Installed(name, folder, str(said["source"]), files)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise ModelError(f"cannot read {folder / MANIFEST}: {error.strerror}") from None
        except (ValueError, KeyError, TypeError):
            raise ModelError(
                f"{folder / MANIFEST} is damaged: `vixio models remove {name}`, then get it again"
            ) from None

    def partial(self, name: str) -> int:
        """Return the bytes of a model that have arrived so far. Blocking."""
        staging = self.staging(name)
        return sum(each.stat().st_size for each in staging.rglob("*") if each.is_file())

    async def faults(
        self, model: Installed, on_bytes: Callable[[int], None] | None = None
    ) -> list[Fault]:
        """Hash every file; return what is wrong. ``on_bytes``: called in a thread."""
        found: list[Fault] = []
        done = 0

        def tell(size: int) -> None:
            if on_bytes is not None:
                on_bytes(done + size)

        for file in model.files:
            try:
                digest = await digest_of(model.folder / file.name, tell)
            except FileNotFoundError:
                found.append(Fault(file.name, "is missing"))
                continue
            except OSError as error:
                found.append(Fault(file.name, f"cannot be read: {error.strerror}"))
                continue
            done += digest.size
            if digest.size != file.size:
                what = f"has {digest.size} bytes instead of {file.size}"
                found.append(Fault(file.name, what))
            elif digest.sha256 != file.sha256:
                found.append(Fault(file.name, "has other content than when it was fetched"))
        return found

    @asynccontextmanager
    async def locked(self, name: str, waiting: Callable[[], None]) -> AsyncIterator[None]:
        """Hold the lock of a model. ``waiting``: called once if another process has it."""
        handle = await asyncio.to_thread(self._open_lock, name)
        try:
            told = False
            while not _try_lock(handle):
                if not told:
                    waiting()
                    told = True
                await asyncio.sleep(_WAIT)
            yield
        finally:
            os.close(handle)  # which gives the lock back

    def prepare(self, name: str) -> None:
        """Make the folders of a model that is being fetched. Blocking. Raises ModelError."""
        try:
            (self.staging(name) / "files").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise disk_error(error, self.folder) from None

    def publish(self, name: str, source: str, files: list[StoredFile]) -> Installed:
        """Make the staged files the model of that name. Blocking. Raises ModelError."""
        staging = self.staging(name)
        whole = staging / "files"
        manifest: dict[str, Any] = {
            "format": _FORMAT,
            "model": name,
            "source": source,
            "files": [asdict(file) for file in files],
        }
        try:
            _tidy(whole, {file.name for file in files})
            with (whole / MANIFEST).open("w", encoding="utf-8") as file:
                json.dump(manifest, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            place = self.place(name)
            if place.exists():
                old = staging / "old"
                shutil.rmtree(old, ignore_errors=True)
                place.rename(old)
            whole.rename(place)
            shutil.rmtree(staging, ignore_errors=True)
        except OSError as error:
            raise disk_error(error, self.folder) from None
        return Installed(name, place, source, tuple(files))

    async def remove(self, name: str) -> int:
        """Remove a model, and what has arrived of it. Return the bytes that this frees.

        Waits for a command that is fetching it. Raises ModelError.
        """
        self.place(name)
        async with self.locked(name, lambda: None):
            return await asyncio.to_thread(self._remove, name)

    def _remove(self, name: str) -> int:
        place, staging = self.place(name), self.staging(name)
        freed = sum(
            each.lstat().st_size
            for folder in (place, staging)
            for each in folder.rglob("*")
            if not each.is_dir()
        )
        try:
            shutil.rmtree(staging, ignore_errors=True)
            if place.exists():
                gone = staging / "gone"
                staging.mkdir(parents=True, exist_ok=True)
                place.rename(gone)
                shutil.rmtree(staging)
        except OSError as error:
            raise ModelError(f"cannot remove {place}: {error.strerror}") from None
        return freed

    def _open_lock(self, name: str) -> int:
        folder = self.folder / _PARTIAL
        try:
            folder.mkdir(parents=True, exist_ok=True)
            return os.open(folder / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise disk_error(error, self.folder) from None


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in {errno.EWOULDBLOCK, errno.EACCES}:
            return False
        raise ModelError(f"the folder of models cannot be locked: {error.strerror}") from None
    return True


def _tidy(folder: Path, wanted: set[str]) -> None:
    """Delete what is no file of the model: of an older catalogue, or an unfinished part."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                path.rmdir()
        elif path.relative_to(folder).as_posix() not in wanted:
            path.unlink()

"""The files of a model that is being fetched: what is verified already, and how it is noted."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

from vixio.providers.downloads.catalogue import Model, ModelFile, Part, Source
from vixio.providers.downloads.digests import Digest, digest_of, in_thread
from vixio.providers.downloads.errors import ModelError, Trouble, disk_error
from vixio.providers.downloads.hubs import Remote
from vixio.providers.downloads.progress import Progress, Report, Stage
from vixio.providers.downloads.store import Checked, Installed, ModelStore, StoredFile
from vixio.providers.downloads.transfer import Expected
from vixio.providers.downloads.unpack import Target, unpack

_MARGIN = 1024 * 1024
_MOST = 8 * 1024**3
"""Bytes of a file of which nothing is known."""


class Staging:
    """The folder of one model that is being fetched. Its lock is held, and the folder exists."""

    def __init__(self, model: Model, store: ModelStore, report: Report) -> None:
        self.model = model
        self.folder = store.staging(model.name)
        self.ready: dict[str, StoredFile] = {}
        """The verified files, by name."""
        self.origin = ""
        """The host, or the folder, that gave the first of them."""
        self._store = store
        self._report = report
        self._loop = asyncio.get_running_loop()

    def place(self, name: str) -> Path:
        """Return where a verified file lies."""
        return self.folder / "files" / name

    # ── what is there already ────────────────────────────────────────────────────────────────

    async def is_whole(self, present: Installed) -> bool:
        """Whether an installed model is as it was fetched, and as the catalogue says."""
        by_name = {file.name: file for file in present.files}
        for file in self.model.files:
            stored = by_name.get(file.name)
            if stored is None or file.sha256 not in {None, stored.sha256}:
                return False
        on_bytes = self.from_thread("checking", present.size, self.model.name)
        return not await self._store.faults(present, on_bytes)

    def reuse(self, present: Installed) -> None:
        """Link the installed files, so that :meth:`restore` finds the good ones. Blocking."""
        noted = []
        for file in present.files:
            there = self.place(file.name)
            try:
                make_parent(there)
                there.unlink(missing_ok=True)
                there.hardlink_to(present.folder / file.name)
            except OSError:
                continue  # missing, or a disk without links: it is fetched again
            noted.append(file)
        self._note(noted)

    async def restore(self) -> None:
        """Find the verified files of an earlier try. They are hashed again."""
        pins = {file.name: file.sha256 for file in self.model.files}
        for stored in await asyncio.to_thread(self._noted):
            try:
                digest = await digest_of(self.place(stored.name))
            except OSError:
                continue
            if stored.sha256 == digest.sha256 and pins.get(stored.name) in {None, digest.sha256}:
                self.ready[stored.name] = stored

    def _noted(self) -> list[StoredFile]:
        try:
            said = json.loads((self.folder / "ready.json").read_text("utf-8"))
            return [StoredFile(**each) for each in said]
        except (OSError, ValueError, TypeError):
            return []

    def _note(self, files: list[StoredFile]) -> None:
        text = json.dumps([asdict(file) for file in files])
        (self.folder / "ready.json").write_text(text, "utf-8")

    # ── what arrives ─────────────────────────────────────────────────────────────────────────

    async def add(self, name: str, digest: Digest, checked: Checked) -> None:
        """Note a file that lies at its place and is verified."""
        self.ready[name] = StoredFile(name, digest.size, digest.sha256, checked)
        await asyncio.to_thread(self._note, list(self.ready.values()))

    async def unpack(self, part: Part, source: Source, archive: Path, checked: Checked) -> None:
        """Take the files of a part out of a verified archive. Raises Trouble, ModelError."""
        fresh = {file: self.folder / f"unpacked-{at}" for at, file in enumerate(part.files)}
        wanted = {
            source.path_of(file): Target(path, expected_of(file).most)
            for file, path in fresh.items()
        }
        total = sum(file.expected for file in part.files)
        on_bytes = self.from_thread("unpacking", total, archive.name)
        try:
            await in_thread(lambda stop: unpack(archive, wanted, stop, on_bytes))
            for file, path in fresh.items():
                digest = await digest_of(path)
                if mistake := expected_of(file).mistake(digest):
                    raise Trouble(f"an archive with another {file.name}: it {mistake}")
                await asyncio.to_thread(move, path, self.place(file.name))
                await self.add(file.name, digest, "catalogue" if file.sha256 else checked)
        except OSError as error:
            raise disk_error(error, self.folder) from error
        finally:
            await asyncio.to_thread(_delete, fresh)

    async def check_room(self, size: int) -> None:
        """Raise ModelError if the disk has less than ``size`` bytes beside what has arrived."""
        free = (await asyncio.to_thread(shutil.disk_usage, self.folder)).free
        there = await asyncio.to_thread(self._store.partial, self.model.name)
        there -= sum(file.size for file in self.ready.values())
        if free + max(0, there) < size:
            raise ModelError(
                f"{self.model.name} needs {size / 1e6:.0f} MB, the disk of {self._store.folder} "
                f"has {free / 1e6:.0f} MB free; another place: --folder, or VIXIO_MODELS"
            )

    # ── progress ─────────────────────────────────────────────────────────────────────────────

    def say(self, stage: Stage, text: str, done: int = 0, total: int = 0) -> None:
        """Report how far it is."""
        self._report(Progress(self.model.name, stage, done, total, text))

    def from_thread(self, stage: Stage, total: int, text: str) -> Callable[[int], None]:
        """Return a function by which a thread reports its bytes."""

        def on_bytes(done: int) -> None:
            self._loop.call_soon_threadsafe(self.say, stage, text, done, total)

        return on_bytes


def expected_of(file: ModelFile | Source, stated: Remote | None = None) -> Expected:
    """Return what a file, or the archive of a source, has to be.

    What the catalogue pins goes first, then what the hub states. Raises Trouble if they differ.
    """
    stated = stated or Remote("")
    size, sha256, git = file.size or stated.size, file.sha256, None
    if sha256 is None:
        size, sha256, git = stated.size or file.size, stated.sha256, stated.git
    elif stated.sha256 not in {None, sha256}:
        raise Trouble("has another version than the catalogue knows")
    guess = file.expected * 3 // 2 + _MARGIN if file.expected else _MOST
    return Expected(size or guess, size, sha256, git)


def checked_by(file: ModelFile | Source, expected: Expected) -> Checked:
    """Return by what a file that is as ``expected`` was verified."""
    if file.sha256 is not None:
        return "catalogue"
    if expected.sha256 is not None or expected.git is not None:
        return "hub"
    return "nothing" if expected.size is None else "size"


def make_parent(path: Path) -> None:
    """Make the folder of a file. Blocking."""
    path.parent.mkdir(parents=True, exist_ok=True)


def move(path: Path, target: Path) -> None:
    """Move a file. Blocking."""
    make_parent(target)
    path.replace(target)


def _delete(files: Mapping[ModelFile, Path]) -> None:
    for path in files.values():
        path.unlink(missing_ok=True)

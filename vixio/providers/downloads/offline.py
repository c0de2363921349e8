"""Takes the files of a model out of a folder, for machines without a network."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from vixio.providers.downloads.catalogue import Model, ModelFile, Part, Source
from vixio.providers.downloads.digests import Stopped, digest_of, in_thread
from vixio.providers.downloads.errors import ModelError, Trouble, disk_error
from vixio.providers.downloads.hubs import Remote
from vixio.providers.downloads.staging import Staging, checked_by, expected_of, move
from vixio.providers.downloads.store import ModelStore

_PIECE = 1024 * 1024


class OfflineFolder:
    """A folder with a model's files: as hubs name them, its archive, or another models folder."""

    def __init__(self, folder: Path, model: Model) -> None:
        """Blocking. Raises ModelError if there is no such folder."""
        self.folder = folder.expanduser().absolute()
        self._model = model
        if not self.folder.is_dir():
            raise ModelError(f"there is no folder {folder}")
        known = ModelStore(self.folder).get(model.name)
        if known is None and self.folder.name == model.name:  # the folder of the model itself
            known = ModelStore(self.folder.parent).get(model.name)
        files = () if known is None else known.files
        self._stated = {file.name: Remote("", file.size, file.sha256) for file in files}
        """What the machine that fetched the files has noted of them."""

    async def part(self, part: Part, staging: Staging) -> None:
        """Take what is missing of a part. Raises ModelError if it is not there, or wrong."""
        staging.origin = str(self.folder)
        troubles: list[str] = []
        try:
            if await self._files(part, staging, troubles):
                return
            if await self._archive(part, staging, troubles):
                return
        except OSError as error:
            raise disk_error(error, staging.folder) from error
        names = ", ".join(file.name for file in part.files if file.name not in staging.ready)
        reasons = f" ({'; '.join(troubles)})" if troubles else ""
        raise ModelError(f"{self.folder} has not all of {self._model.name}: {names}{reasons}")

    async def _files(self, part: Part, staging: Staging, troubles: list[str]) -> bool:
        """Take the files; return whether all are ready."""
        missing = [file for file in part.files if file.name not in staging.ready]
        await staging.check_room(sum(file.expected for file in missing))
        for file in missing:
            for path in await asyncio.to_thread(self._places, file):
                try:
                    await self._copy(file, path, staging)
                    break
                except Trouble as trouble:
                    troubles.append(f"{path.name} {trouble}")
        return all(file.name in staging.ready for file in part.files)

    async def _copy(self, file: ModelFile, path: Path, staging: Staging) -> None:
        expected = expected_of(file, self._stated.get(file.name))
        target = staging.folder / "copy"
        on_bytes = staging.from_thread("copying", expected.size or file.expected, path.name)
        await in_thread(lambda stop: _copy(path, target, expected.most, stop, on_bytes))
        digest = await digest_of(target)
        if mistake := expected.mistake(digest):
            raise Trouble(mistake)
        if digest.size > expected.most:
            raise Trouble("is far larger than expected")
        await asyncio.to_thread(move, target, staging.place(file.name))
        await staging.add(file.name, digest, checked_by(file, expected))

    async def _archive(self, part: Part, staging: Staging, troubles: list[str]) -> bool:
        """Take the files out of an archive; return whether there is one that has them."""
        for source in part.sources:
            for path in await asyncio.to_thread(self._archives, source):
                expected = expected_of(source)
                try:
                    if mistake := expected.mistake(await digest_of(path)):
                        raise Trouble(mistake)
                    await staging.unpack(part, source, path, checked_by(source, expected))
                except Trouble as trouble:
                    troubles.append(f"{path.name}: {trouble}")
                    continue
                return True
        return False

    def _places(self, file: ModelFile) -> list[Path]:
        """Return the files that may be it, likely ones first."""
        names = (file.name, file.there, PurePosixPath(file.there).name)
        bases = (self.folder / self._model.name, self.folder)
        found = dict.fromkeys(base / name for base in bases for name in names)
        return [path for path in found if path.is_file()]

    def _archives(self, source: Source) -> list[Path]:
        if source.archive is None:
            return []
        name = PurePosixPath(source.archive).name
        found = (base / name for base in (self.folder, self.folder / self._model.name))
        return [path for path in found if path.is_file()]


def _copy(
    origin: Path, target: Path, most: int, stop: threading.Event, on_bytes: Callable[[int], None]
) -> None:
    """Copy at most ``most`` bytes and one. Blocking. Raises OSError, Stopped if ``stop`` is set."""
    done = 0
    with origin.open("rb") as source, target.open("wb") as file:
        while done <= most and (piece := source.read(min(_PIECE, most + 1 - done))):
            if stop.is_set():
                raise Stopped
            file.write(piece)
            done += len(piece)
            on_bytes(done)

"""Folders whose documents are followed: new and changed ones are read, those that go are erased."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Final

from vixio.core.tasks import cancel_and_wait
from vixio.data.papers.reading import KINDS
from vixio.data.papers.records import Paper, PaperError, owner_of
from vixio.data.papers.service import Papers

_log = logging.getLogger(__name__)

LOOK_S: Final = 3.0
"""Between two looks at the folders."""

_SHARE: Final = 50
"""A look that takes long is followed by a pause of so many times that."""

MAX_FILES: Final = 20_000
"""Of one folder."""


@dataclass(frozen=True, slots=True)
class PaperFolder:
    """A folder and whose its documents are: a person's by name, a profile's, else everybody's."""

    path: Path
    profile: str = ""
    person: str = ""


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    name: str
    digest: str


class PaperFolders:
    """Follows folders, in one process of a server."""

    def __init__(self, papers: Papers, folders: Sequence[PaperFolder]) -> None:
        self._papers = papers
        self._folders = folders
        self._reported: set[str] = set()
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Begin to follow."""
        self._task = asyncio.create_task(self._run(), name="paper folders")

    async def close(self) -> None:
        """End. Idempotent."""
        await cancel_and_wait(self._task)

    async def _run(self) -> None:
        while True:
            took = 0.0
            try:
                took = await self.follow()
            except PaperError as error:
                self._report("folders of documents are not followed", "", str(error))
            await asyncio.sleep(max(LOOK_S, _SHARE * took))

    async def follow(self) -> float:
        """Read what is new and erase what is gone; return the seconds that the look took.

        Raises PaperError.
        """
        known = [
            each for each in await self._papers.use(lambda papers: papers.all()) if each.followed
        ]
        took, there, unseen = 0.0, set[str](), list[str]()
        for folder in self._folders:
            began = perf_counter()
            root = str(folder.path)
            files = await asyncio.to_thread(_files, folder.path)
            took += perf_counter() - began
            if files is None:
                self._report("folder of documents not readable", root, "is it there?")
                unseen.append(root + os.sep)
                continue
            owner = await self._owner(folder)
            if owner is None:
                continue
            mine = {each.origin: each for each in known if each.owner == owner}
            for file in files:
                there.add(f"{owner}\n{file.path}")
                await self._take(owner, file, mine.get(str(file.path)))
        gone = [
            each.id
            for each in known
            if f"{each.owner}\n{each.origin}" not in there
            and not each.origin.startswith(tuple(unseen))
        ]
        if gone:
            await self._papers.use(lambda papers: papers.drop(gone))
            self._papers.look()
        return took

    async def _owner(self, folder: PaperFolder) -> str | None:
        if not folder.person:
            return owner_of(profile=folder.profile)
        person = await self._papers.use(lambda papers: papers.person(folder.person))
        if person is None:
            reason = f"nobody is called {folder.person!r}: `vixio people add` adds a person"
            self._report("folder of documents belongs to nobody", str(folder.path), reason)
            return None
        return owner_of(person=person)

    async def _take(self, owner: str, file: _File, known: Paper | None) -> None:
        if known is not None and known.digest == file.digest:
            return
        try:
            content = await asyncio.to_thread(file.path.read_bytes)
        except OSError:  # it has gone, or is not ours to read: the next look knows
            return
        await self._papers.add(owner, file.name, content, str(file.path), file.digest)

    def _report(self, words: str, folder: str, reason: str) -> None:
        """Log a fault of a folder once."""
        if (line := f"{folder} {reason}") not in self._reported:
            self._reported.add(line)
            _log.warning(words, extra={"folder": folder, "reason": reason})


def _files(folder: Path) -> list[_File] | None:
    """Return the documents in a folder; None: it cannot be read."""
    if not folder.is_dir():
        return None
    found = []
    for path in _walk(folder):
        try:
            state = path.stat()
        except OSError:
            continue
        digest = f"{state.st_size}-{state.st_mtime_ns}"
        found.append(_File(path, path.name, digest))
        if len(found) == MAX_FILES:
            break
    return found


def _walk(folder: Path) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for name in sorted(names):
            if Path(name).suffix.lower() in KINDS and not name.startswith((".", "~$")):
                yield Path(root, name)

"""The whole of a server's data: registry, memory, secret, firmware."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from vixio.data.backup import registry
from vixio.data.backup.archive import ArchiveReader, ArchiveWriter, BackupError
from vixio.data.database.database import Database
from vixio.data.database.paths import make_private_folder
from vixio.data.memory.former import restore as restore_memory
from vixio.data.memory.records import PERSON_KEY
from vixio.data.memory.repository import MemoryRepository
from vixio.data.papers.repository import index_again

ABOUT: Final = "about.json"
MEMORY: Final = "memory.jsonl"
"""Of versions that kept the memory apart from the registry."""
FILES: Final = "files/"
TABLES: Final = "registry/"

KEPT: Final = ("token_secret", "assistant.yaml", "tools.env", "firmware")
"""What of the data folder goes along: the databases have members of their own."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server's data are, opened."""

    folder: Path
    database: Database


async def export(place: Place, path: Path) -> Mapping[str, int]:
    """Write everything to a file; return what was written, by kind. Raises BackupError.

    The server may run: what was acknowledged before is in it. Secrets are in it too.
    """
    version, rows = await registry.dump(place.database)

    def write() -> int:
        files = [
            file
            for kept in KEPT
            for file in sorted(
                (place.folder / kept).rglob("*")
                if (place.folder / kept).is_dir()
                else [place.folder / kept]
            )
            if file.is_file() and not file.is_symlink()
        ]
        with ArchiveWriter(path) as archive:
            archive.add_lines(ABOUT, [{"database_version": version}])
            for table, lines in rows.items():
                archive.add_lines(f"{TABLES}{table}.jsonl", lines)
            for file in files:
                archive.add_file(FILES + file.relative_to(place.folder).as_posix(), file)
        return len(files)

    files = await asyncio.to_thread(write)
    return {
        "devices": len(rows.get("devices", ())),
        "profiles": len(rows.get("profiles", ())),
        "people": len(rows.get("people", ())),
        "conversations": await _conversations(place.database),
        "files": files,
    }


async def restore(place: Place, path: Path) -> Mapping[str, int]:
    """Fill an empty place from a file; return what was restored, by kind. Raises BackupError.

    All of the place is looked at before anything is written.
    """
    archive = await asyncio.to_thread(ArchiveReader, path)
    files = [name.removeprefix(FILES) for name in archive.names if name.startswith(FILES)]
    targets = {name: _inside(place.folder, name) for name in files}
    if taken := next((target for target in targets.values() if target.exists()), None):
        raise BackupError(f"{taken} is there already: restore into a new data folder")
    about: dict[str, Any] = next(archive.lines(ABOUT), {})
    version = int(about.get("database_version", 0))
    await registry.check(place.database, version)
    rows = {table: archive.lines(f"{TABLES}{table}.jsonl") for table in registry.tables()}
    loaded = await registry.load(place.database, rows, version)
    async with place.database.transaction() as transaction:
        await restore_memory(transaction, archive.lines(MEMORY))
    await index_again(place.database)

    def write() -> None:
        for name, target in targets.items():
            make_private_folder(target.parent)
            archive.copy(FILES + name, target)

    try:
        await asyncio.to_thread(write)
    except OSError as error:
        raise BackupError(f"{place.folder}: {error.strerror}") from None
    return {
        "devices": loaded["devices"],
        "profiles": loaded["profiles"],
        "people": loaded["people"],
        "conversations": await _conversations(place.database),
        "files": len(files),
    }


async def _conversations(database: Database) -> int:
    """Return how many devices are remembered; the facts about people are no conversation."""
    known = await MemoryRepository(database).known()
    return sum(not each.key.startswith(PERSON_KEY) for each in known)


def _inside(folder: Path, name: str) -> Path:
    """Return the place of a file below ``folder``. Raises BackupError for any other place."""
    parts = Path(name).parts
    if not parts or parts[0] not in KEPT or ".." in parts or Path(name).is_absolute():
        raise BackupError(f"the backup has a file in an unknown place: {name!r}")
    return folder / name

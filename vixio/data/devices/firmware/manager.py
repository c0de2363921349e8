"""What people do with firmware, each change in one transaction: by commands and the API."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from vixio.core.device import normalise_device_id
from vixio.core.wall_clock import now_ms
from vixio.data.database.audit import AuditTable
from vixio.data.database.database import Database, Transaction
from vixio.data.devices.firmware.attempts import Attempt
from vixio.data.devices.firmware.errors import FirmwareError, NoFirmware
from vixio.data.devices.firmware.folder import FirmwareFolder, StoredImage
from vixio.data.devices.firmware.offer import Release
from vixio.data.devices.firmware.tables import RELEASES, AttemptTable, ReleaseRecord, ReleaseTable
from vixio.data.devices.firmware.versions import numbers

MAX_DEVICES: Final = 1_000
"""Of the list of a release; a percentage is for more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """An image, its release, or both."""

    board: str
    version: str
    stored: StoredImage | None = None
    """None: the file is gone."""
    record: ReleaseRecord | None = None
    """None: it is not released."""
    counts: dict[str, int] = field(default_factory=dict)
    """Devices by the state of their last attempt."""


class FirmwareManager:
    """The operations on an open database and a folder. ``clock``: milliseconds since 1970.

    Every method raises FirmwareError.
    """

    def __init__(
        self, database: Database, folder: FirmwareFolder, clock: Callable[[], int] = now_ms
    ) -> None:
        self._database = database
        self._folder = folder
        self._clock = clock

    async def add(self, file: Path, board: str, actor: str) -> StoredImage:
        """Add an image; ``board`` empty: the one that it was built for. No device gets it yet.

        Refuses one for another chip than the devices with this board have that were here.
        """
        image = await self._folder.check(file, board)
        name = board or image.boards[0]
        async with self._database.transaction(write=False) as transaction:
            rows = await transaction.fetch(
                "SELECT DISTINCT chip FROM devices WHERE board = :board AND chip <> ''", board=name
            )
        chips = sorted(row["chip"] for row in rows)
        if chips and image.chip not in chips:
            raise FirmwareError(
                f"{file}: it is for the chip {image.chip}; devices with the board {name} have "
                f"{' or '.join(chips)}"
            )
        stored = await self._folder.add(file, board)
        async with self._database.transaction() as transaction:
            await self._audit(transaction, actor, "added", stored.board, stored.version)
        return stored

    async def release(
        self,
        board: str,
        version: str,
        actor: str,
        *,
        percent: float = 0.0,
        devices: Collection[str] = (),
        force: bool = False,
        retry: bool = False,
    ) -> ReleaseRecord:
        """Offer an image to a part of the devices of its board, and to the listed ones.

        What was released of this image before is replaced. ``retry``: also to devices on which it
        failed too often; ``force`` includes that.
        """
        if not 0 <= percent <= 100 or not math.isfinite(percent):
            raise FirmwareError("the percentage must be from 0 to 100")
        ids = frozenset(map(normalise_device_id, devices))
        if "" in ids or len(ids) > MAX_DEVICES:
            raise FirmwareError(f"a release takes up to {MAX_DEVICES} ids of devices, none empty")
        if not ids and not percent:
            raise FirmwareError("say which devices get it: --percent or --device")
        stored = await self._folder.get(board, version)
        assert stored.image is not None  # noqa: S101 - get() gives checked ones
        image, at = stored.image, self._clock()
        async with self._database.transaction() as transaction:
            await transaction.lock(RELEASES)
            table = ReleaseTable(transaction)
            earlier = await table.find(board, version)
            same = earlier is not None and earlier.release.sha256 == image.sha256
            record = ReleaseRecord(
                release=Release(
                    id=await table.next_id(),
                    board=board,
                    version=version,
                    chip=image.chip,
                    sha256=image.sha256,
                    elf_sha256=image.elf_sha256,
                    size=image.size,
                    percent=percent,
                    devices=ids,
                    forced=force,
                ),
                released_at=at,
                retry_from=earlier.retry_from
                if earlier is not None and same and not (force or retry)
                else at,
            )
            await table.put(record)
            await self._audit(
                transaction,
                actor,
                "released",
                board,
                version,
                percent=percent,
                devices=sorted(ids),
                forced=force,
            )
        return record

    async def pause(self, board: str, version: str, actor: str, *, paused: bool) -> ReleaseRecord:
        """Offer a released image to no further device for now, or again."""
        async with self._database.transaction() as transaction:
            await transaction.lock(RELEASES)
            table = ReleaseTable(transaction)
            record = await table.find(board, version)
            if record is None:
                raise NoFirmware(f"{version} of {board} is not released")
            record = replace(record, release=replace(record.release, paused=paused))
            await table.put(record)
            action = "paused" if paused else "resumed"
            await self._audit(transaction, actor, action, board, version)
        return record

    async def remove(self, board: str, version: str, actor: str) -> None:
        """Take back a release and delete its image. What was recorded of devices stays."""
        async with self._database.transaction() as transaction:
            await transaction.lock(RELEASES)
            released = await ReleaseTable(transaction).remove(board, version)
            if released:
                await self._audit(transaction, actor, "withdrawn", board, version)
        try:
            await self._folder.remove(board, version)
        except FirmwareError:
            if not released:
                raise
            return
        async with self._database.transaction() as transaction:
            await self._audit(transaction, actor, "removed", board, version)

    async def listing(self, board: str = "", version: str = "") -> Sequence[Listed]:
        """Return images and releases, by board and version; empty: of all."""
        stored = {(each.board, each.version): each for each in await self._folder.all()}
        async with self._database.transaction(write=False) as transaction:
            released = {
                (each.release.board, each.release.version): each
                for each in await ReleaseTable(transaction).all()
            }
            counts = await AttemptTable(transaction).counts()
        found = sorted(stored.keys() | released.keys(), key=lambda key: (key[0], numbers(key[1])))
        return [
            Listed(
                board=key[0],
                version=key[1],
                stored=stored.get(key),
                record=released.get(key),
                counts=counts.get(key, {}),
            )
            for key in found
            if board in ("", key[0]) and version in ("", key[1])
        ]

    async def find(self, version: str, board: str = "") -> Listed:
        """Return the one image or release of a version; ``board`` empty: of whichever board."""
        found = await self.listing(board, version)
        if not found:
            of = f" of {board}" if board else ""
            raise NoFirmware(
                f"there is no firmware {version}{of}: `vixio firmware list` shows what there is"
            )
        if len(found) > 1:
            boards = ", ".join(each.board for each in found)
            raise FirmwareError(f"there is {version} of {boards}: say which with --board")
        return found[0]

    async def attempts(
        self, *, device_id: str = "", board: str = "", version: str = "", limit: int = 100
    ) -> Sequence[Attempt]:
        """Return the newest attempts first; empty: of all."""
        async with self._database.transaction(write=False) as transaction:
            return await AttemptTable(transaction).all(
                device_id=normalise_device_id(device_id),
                board=board,
                version=version,
                limit=limit,
            )

    async def _audit(
        self,
        transaction: Transaction,
        actor: str,
        action: str,
        board: str,
        version: str,
        **detail: object,
    ) -> None:
        target = f"firmware:{board}/{version}"
        await AuditTable(transaction).add(self._clock(), actor, action, target, **detail)

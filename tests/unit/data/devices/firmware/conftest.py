"""A database and a folder of images."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support import firmware_images as images
from tests.support.registry_databases import Make
from vixio.core.metrics import Counters
from vixio.data.database.database import Database
from vixio.data.database.link import Link
from vixio.data.devices.firmware.attempts import Attempt
from vixio.data.devices.firmware.folder import FirmwareFolder
from vixio.data.devices.firmware.manager import FirmwareManager
from vixio.data.devices.firmware.offer import Stated
from vixio.data.devices.firmware.service import FirmwareService

BOARD = "bread-compact-wifi"
DEVICE = "aa:bb:cc:00:00:01"


@dataclass
class House:
    """The parts. ``time``: milliseconds; each question of a device is a second later."""

    make: Make
    database: Database
    folder: FirmwareFolder
    scratch: Path
    counters: Counters = field(default_factory=Counters)
    time: int = 1_000_000
    manager: FirmwareManager = field(init=False)

    def __post_init__(self) -> None:
        self.manager = FirmwareManager(self.database, self.folder, self.clock)

    def clock(self) -> int:
        return self.time

    async def add(self, version: str = "2.4.2", board: str = BOARD, **options: int) -> None:
        file = self.scratch / "build.bin"
        file.write_bytes(images.application(version, board, **options))  # type: ignore[arg-type]  # names of its integers
        await self.manager.add(file, board, "cli")

    async def register(self, *devices: str) -> None:
        async with self.database.transaction() as transaction:
            for device in devices:
                await transaction.execute(
                    "INSERT INTO devices (id, first_seen, last_seen) VALUES (:id, 0, 0)", id=device
                )

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[FirmwareService]:
        link: Link[Database] = Link(self.make, name="test-firmware")
        service = FirmwareService(link, self.folder, self.counters, self.clock)
        try:
            yield service
        finally:
            await service.stop()
            await link.close()

    async def ask(
        self,
        service: FirmwareService,
        version: str = "2.4.1",
        device: str = DEVICE,
        elf_sha256: str = "",
        board: str = BOARD,
    ) -> Attempt | None:
        """Ask as a device that starts."""
        self.time += 1_000
        return await service.offer(
            Stated(
                device_id=device,
                board=board,
                chip="esp32s3",
                version=version,
                elf_sha256=elf_sha256,
            )
        )

    async def until(self, ready: Callable[[Attempt], bool]) -> Attempt:
        """Wait until the newest attempt is so."""
        async with asyncio.timeout(60):
            while True:
                attempts = await self.manager.attempts()
                if attempts and ready(attempts[0]):
                    return attempts[0]
                await asyncio.sleep(0.02)


@pytest.fixture
async def house(make: Make, tmp_path: Path) -> AsyncIterator[House]:
    database = make()
    await database.open()
    house = House(make, database, FirmwareFolder(tmp_path / "data" / "firmware"), tmp_path)
    await house.register(DEVICE)
    yield house
    await database.close()

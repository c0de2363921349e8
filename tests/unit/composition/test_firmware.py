"""Offers, downloads and their record, joined; through a real HTTP server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2

from tests.support import firmware_images as images
from tests.support.registry import device_tokens, memory_registry
from vixio.composition.firmware import Firmware
from vixio.core.metrics import Counters
from vixio.data.database.database import Database
from vixio.data.database.link import Link
from vixio.data.database.sqlite import SQLiteDatabase
from vixio.data.devices.firmware.attempts import Attempt, AttemptState
from vixio.data.devices.firmware.folder import FirmwareFolder
from vixio.data.devices.firmware.manager import FirmwareManager
from vixio.data.devices.records import AccessMode
from vixio.transports.admission.access import Access, OpenAccess
from vixio.transports.admission.admission import Admission, AdmissionSettings
from vixio.web.http.app import create_http_app
from vixio.web.http.ota import OtaSettings
from vixio.web.http.public_url import HttpAddress
from vixio.web.http.server import HttpServer

DEVICE = "02:00:00:00:00:01"
BOARD = "bread-compact-wifi"
STATED = {
    "chip_model_name": "esp32s3",
    "application": {"version": "2.4.1"},
    "partition_table": [
        {"label": "ota_0", "type": 0, "subtype": 16, "address": 0, "size": 4_000_000},
        {"label": "ota_1", "type": 0, "subtype": 17, "address": 0, "size": 4_000_000},
    ],
    "ota": {"label": "ota_0"},
}


class House:
    def __init__(self, data: Path) -> None:
        self.folder = FirmwareFolder(data / "firmware")
        self.database = SQLiteDatabase(data / "vixio.db")
        self.manager = FirmwareManager(self.database, self.folder)
        self.url = ""

    async def ota(self, **changes: object) -> dict[str, Any]:
        """Ask as a device does; return the section ``firmware``."""
        headers = {"Device-Id": DEVICE, "User-Agent": f"{BOARD}/2.4.1"}
        async with httpx2.AsyncClient() as client:
            answer = await client.post(
                f"{self.url}/xiaozhi/ota/", headers=headers, json=STATED | changes
            )
        assert answer.status_code == 200
        section = answer.json()["firmware"]
        assert isinstance(section, dict)
        return section

    async def until(self, *states: AttemptState) -> Attempt:
        """Wait until the newest attempt is in one of these states."""
        async with asyncio.timeout(60):
            while True:
                attempts = await self.manager.attempts()
                if attempts and attempts[0].state in states:
                    return attempts[0]
                await asyncio.sleep(0.02)


@asynccontextmanager
async def house(tmp_path: Path, access: Access | None = None) -> AsyncIterator[House]:
    house = House(tmp_path / "data")
    await house.database.open()
    async with house.database.transaction() as transaction:
        await transaction.execute(
            "INSERT INTO devices (id, first_seen, last_seen) VALUES (:id, 0, 0)", id=DEVICE
        )
    link: Link[Database] = Link(lambda: SQLiteDatabase(tmp_path / "data" / "vixio.db"), name="t")
    counters = Counters()
    firmware = Firmware(house.folder, link, counters, HttpAddress(lambda: server.port))
    admission = Admission(AdmissionSettings(access=access or OpenAccess()), counters=counters)
    app = create_http_app(
        OtaSettings(), admission=admission, more=firmware.routes(), offers=firmware.offers
    )
    server = HttpServer(app, "127.0.0.1", 0, admission=admission)
    await server.start()
    house.url = f"http://127.0.0.1:{server.port}"
    try:
        yield house
    finally:
        await server.stop()
        await firmware.stop()
        await link.close()
        await house.database.close()


async def released(house: House, tmp_path: Path, image: bytes) -> None:
    (tmp_path / "xiaozhi.bin").write_bytes(image)
    await house.manager.add(tmp_path / "xiaozhi.bin", BOARD, "test")
    await house.manager.release(BOARD, "2.4.2", "test", percent=100)


async def test_a_device_is_offered_and_sent_an_image(tmp_path: Path) -> None:
    image = images.application(code=bytes(500_000))
    async with house(tmp_path) as at:
        assert await at.ota() == {"version": "2.4.1", "url": ""}
        await released(at, tmp_path, image)
        section = await at.ota()
        assert section["version"] == "2.4.2"
        assert "force" not in section
        async with httpx2.AsyncClient() as client:
            sent = await client.get(section["url"])
        assert sent.content == image
        attempt = await at.until(AttemptState.DOWNLOADED)
        assert (attempt.sent, attempt.from_version) == (len(image), "2.4.1")


async def test_a_device_that_is_not_let_in_gets_nothing(tmp_path: Path) -> None:
    registry = memory_registry(AccessMode.ACTIVATION, device_tokens())
    registry.start()
    try:
        async with house(tmp_path, registry) as at:
            await released(at, tmp_path, images.application())
            assert await at.ota() == {"version": "2.4.1", "url": ""}
            assert await at.manager.attempts() == []
            await registry.with_repository(lambda repository: repository.add(DEVICE, "test"))
            assert (await at.ota())["version"] == "2.4.2"
    finally:
        await registry.stop()


async def test_a_partition_without_room_gets_nothing(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await released(at, tmp_path, images.application(code=bytes(500_000)))
        table = [entry | {"size": 400_000} for entry in STATED["partition_table"]]  # type: ignore[operator]  # a JSON value
        assert (await at.ota(partition_table=table))["url"] == ""
        assert (await at.ota())["url"]


async def test_why_a_download_is_refused_is_on_record(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await released(at, tmp_path, images.application())
        section = await at.ota()
        await at.folder.remove(BOARD, "2.4.2")
        async with httpx2.AsyncClient() as client:
            assert (await client.get(section["url"])).status_code == 404
        refused = await at.until(AttemptState.FAILED)
        assert refused.reason == "the image is not there any more"
        assert refused.started_at is None
        assert (await at.ota())["url"] == ""

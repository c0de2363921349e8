"""Downloads of firmware through a real server on the loopback interface."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from io import BufferedReader
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from vixio.core.errors import VixioError
from vixio.core.metrics import Counters
from vixio.transports.admission.admission import Admission
from vixio.web.http import guard as http_guard
from vixio.web.http.app import create_http_app
from vixio.web.http.firmware_link import FIRMWARE_PATH, LIFETIME_S, FirmwareLinks, FirmwareTicket
from vixio.web.http.ota import OtaSettings
from vixio.web.http.public_url import HttpAddress
from vixio.web.http.routes.firmware import DownloadStep, FirmwareDownloads, FirmwareSettings
from vixio.web.http.server import HttpServer

IMAGE = random.Random(3).randbytes(3_000_017)
TICKET = FirmwareTicket(
    attempt=5,
    device_id="aa:bb:cc:dd:ee:ff",
    board="a-board",
    version="2.4.2",
    sha256=hashlib.sha256(IMAGE).hexdigest(),
)

SLOW_BYTES = 48 * 1024**2


@dataclass
class Place:
    """A server with one image, and what it reported."""

    file: Path
    ticket: FirmwareTicket = TICKET
    port: int = 0
    time: float = 1_000.0
    counters: Counters = field(default_factory=Counters)
    steps: list[tuple[DownloadStep, int]] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    links: FirmwareLinks | None = None
    downloads: FirmwareDownloads | None = None

    @classmethod
    def slow(cls, tmp_path: Path) -> Place:
        """Return one whose image does not fit into the buffers of a connection."""
        place = cls(tmp_path / "xiaozhi.bin")
        with place.file.open("wb") as sparse:
            sparse.truncate(SLOW_BYTES)
        place.ticket = replace(TICKET, sha256=hashlib.sha256(bytes(SLOW_BYTES)).hexdigest())
        return place

    def open(self, board: str, version: str) -> BufferedReader:
        if (board, version) != (TICKET.board, TICKET.version) or not self.file.exists():
            raise VixioError(f"there is nothing in {self.file}")
        return self.file.open("rb")

    def report(self, ticket: FirmwareTicket, step: DownloadStep, sent: int, reason: str) -> None:
        assert ticket == self.ticket
        self.steps.append((step, sent))
        if reason:
            self.reasons.append(reason)
        if step not in {DownloadStep.STARTED, DownloadStep.PROGRESS}:
            self.ended.set()

    def path(self, ticket: FirmwareTicket | None = None) -> str:
        assert self.links is not None
        url = self.links.url(ticket or self.ticket, {}, "127.0.0.1", trust_forwarded=False)
        return urlsplit(url).path

    async def connect(
        self, path: str = "", *lines: str, method: str = "GET", version: str = "1.1"
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Ask as the firmware does: nothing but the request and Host."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1024)
        head = "".join(f"{line}\r\n" for line in ("Host: 127.0.0.1", *lines))
        writer.write(f"{method} {path or self.path()} HTTP/{version}\r\n{head}\r\n".encode())
        return reader, writer

    async def get(
        self, path: str = "", *lines: str, method: str = "GET", version: str = "1.1"
    ) -> tuple[int, dict[str, str], bytes]:
        reader, writer = await self.connect(
            path, *lines, "Connection: close", method=method, version=version
        )
        async with asyncio.timeout(60):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            body = await reader.read()
        writer.close()
        pairs = (line.lower().partition(":") for line in head[1:-2])
        headers = {name: value.strip() for name, _, value in pairs}
        return int(head[0].split()[1]), headers, body


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    place = Place(tmp_path / "xiaozhi.bin")
    place.file.write_bytes(IMAGE)
    async with serving(place):
        yield place


@contextlib.asynccontextmanager
async def serving(place: Place, max_at_once: int = 4) -> AsyncIterator[None]:
    place.links = FirmwareLinks(
        secret=b"a secret of the server",
        address=HttpAddress(lambda: place.port),
        clock=lambda: place.time,
    )
    place.downloads = FirmwareDownloads(
        FirmwareSettings(
            links=place.links,
            open_image=place.open,
            report=place.report,
            max_at_once=max_at_once,
            counters=place.counters,
        )
    )
    admission = Admission(counters=place.counters)
    app = create_http_app(OtaSettings(), admission=admission, more=place.downloads.routes())
    server = HttpServer(app, "127.0.0.1", 0, admission=admission)
    await server.start()
    place.port = server.port
    try:
        yield
    finally:
        await asyncio.wait_for(server.stop(), 30)


async def test_a_device_gets_the_image_by_a_bare_get(place: Place) -> None:
    status, headers, body = await place.get()
    assert status == 200
    assert headers["content-length"] == str(len(IMAGE))
    assert "transfer-encoding" not in headers
    assert "content-encoding" not in headers
    assert body == IMAGE
    assert place.steps[0] == (DownloadStep.STARTED, 0)
    assert place.steps[-1] == (DownloadStep.FINISHED, len(IMAGE))
    shown = [sent for step, sent in place.steps if step is DownloadStep.PROGRESS]
    assert len(shown) == 9
    assert shown == sorted(shown)
    assert place.counters.get("firmware.finished") == 1
    assert place.downloads is not None
    assert not place.downloads.busy


@pytest.mark.parametrize("version", ["1.0", "1.1"])
async def test_ranges_and_encodings_are_not_answered(place: Place, version: str) -> None:
    status, headers, body = await place.get(
        "", "Range: bytes=100-", "Accept-Encoding: gzip", version=version
    )
    assert (status, body) == (200, IMAGE)
    assert headers["content-length"] == str(len(IMAGE))
    assert "transfer-encoding" not in headers


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (FIRMWARE_PATH, 403),
        (FIRMWARE_PATH + "a-board/2.4.2/xiaozhi.bin", 403),
        (FIRMWARE_PATH + "../../../etc/passwd", 403),
        (FIRMWARE_PATH + "%2e%2e/%2e%2e/etc/passwd", 403),
        (FIRMWARE_PATH + "a-board/2.4.2%2f..%2f..%00/xiaozhi.bin", 403),
    ],
)
async def test_a_path_without_a_signature_opens_nothing(
    place: Place, path: str, status: int
) -> None:
    answered, headers, body = await place.get(path)
    assert answered == status
    assert headers["content-type"] == "application/json"
    assert json.loads(body) == {"error": "the link is not valid"}
    assert place.steps == []


async def test_a_late_link_is_gone(place: Place) -> None:
    path = place.path()
    place.time += LIFETIME_S + 1
    status, _, body = await place.get(path)
    assert (status, json.loads(body)) == (410, {"error": "the link has expired"})


async def test_a_removed_image_is_not_found(place: Place) -> None:
    place.file.unlink()
    status, _, body = await place.get()
    assert (status, json.loads(body)) == (404, {"error": "the image is not there any more"})
    assert place.steps == [(DownloadStep.REFUSED, 0)]
    assert place.reasons == ["the image is not there any more"]


async def test_a_replaced_image_is_not_sent(place: Place) -> None:
    place.file.write_bytes(IMAGE[:-1] + b"x")
    status, _, body = await place.get()
    assert (status, json.loads(body)) == (410, {"error": "the image was replaced by another one"})
    place.file.write_bytes(IMAGE)
    assert (await place.get())[0] == 200


async def test_an_image_that_cannot_be_read_is_not_found(place: Place) -> None:
    place.file.unlink()
    place.file.mkdir()
    status, _, body = await place.get()
    assert (status, json.loads(body)) == (404, {"error": "the image cannot be read"})


async def test_other_methods_are_refused(place: Place) -> None:
    assert (await place.get(method="POST"))[0] == 405
    status, _, body = await place.get(method="HEAD")
    assert (status, body) == (405, b"")
    assert place.steps == []


@pytest.fixture
async def slow(tmp_path: Path) -> AsyncIterator[Place]:
    place = Place.slow(tmp_path)
    async with serving(place, max_at_once=1):
        yield place


async def test_a_download_that_breaks_off_is_reported(slow: Place) -> None:
    reader, writer = await slow.connect()
    async with asyncio.timeout(60):
        await reader.readexactly(300_000)
        writer.transport.abort()
        await slow.ended.wait()
    step, sent = slow.steps[-1]
    assert step is DownloadStep.ABORTED
    assert 250_000 <= sent < SLOW_BYTES
    assert slow.downloads is not None
    assert not slow.downloads.busy


async def test_a_device_that_stops_reading_is_cut(
    slow: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_guard, "STALL_S", 0.2)
    _, writer = await slow.connect()  # nothing is read from it
    async with asyncio.timeout(60):
        await slow.ended.wait()
    writer.transport.abort()
    assert slow.steps[-1][0] is DownloadStep.ABORTED
    assert slow.counters.get("http.limited.stalled") == 1


async def test_more_downloads_than_allowed_are_put_off(slow: Place) -> None:
    async with asyncio.timeout(60):
        reader, writer = await slow.connect()
        await reader.readexactly(1_000)
        assert slow.downloads is not None
        assert slow.downloads.busy
        status, headers, _ = await slow.get()
        assert (status, headers["retry-after"]) == (503, "60")
        slow.ended.clear()
        writer.transport.abort()
        await slow.ended.wait()
        assert len((await slow.get())[2]) == SLOW_BYTES


@pytest.mark.slow
async def test_a_server_that_stops_reports_what_breaks_off(tmp_path: Path) -> None:
    place = Place.slow(tmp_path)
    async with serving(place):
        reader, writer = await place.connect()
        async with asyncio.timeout(60):
            await reader.readexactly(1_000)
    writer.close()
    assert place.steps[-1][0] is DownloadStep.ABORTED


async def test_several_devices_download_at_once(place: Place) -> None:
    found = await asyncio.gather(*(place.get() for _ in range(4)))
    assert all(body == IMAGE for _, _, body in found)
    assert place.counters.get("firmware.finished") == 4


async def test_a_link_does_not_fit_another_image(place: Place) -> None:
    other = replace(TICKET, version="2.4.3")
    assert (await place.get(place.path(other).replace("2.4.3", "2.4.2")))[0] == 403

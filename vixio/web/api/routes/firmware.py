"""Firmware: images, their releases, and what became of them on devices."""

from __future__ import annotations

import asyncio
import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field
from starlette.requests import Request

from vixio.data.database.paths import make_private_folder
from vixio.data.devices.firmware.errors import FirmwareError
from vixio.data.devices.firmware.folder import StoredImage
from vixio.data.devices.firmware.image import MAX_BYTES
from vixio.data.devices.firmware.manager import Listed
from vixio.data.devices.firmware.tables import ReleaseRecord
from vixio.web.api.access import SCOPED, Service, Who
from vixio.web.api.fields import PRINTABLE, BoardPath, Body, Filter, Limit, VersionPath
from vixio.web.api.problems import Problem, too_many, unavailable
from vixio.web.api.routing import Routes
from vixio.web.api.scopes import Scope

OCTETS: Final = "application/octet-stream"


class Release(BaseModel):
    """Which devices get an image."""

    percent: float = Field(description="Of the devices of the board.")
    devices: list[str] = Field(description="Ids of devices that get it whatever the percentage.")
    paused: bool
    forced: bool
    released_at: int = Field(description="Milliseconds since 1970.")


class Image(BaseModel):
    """An image, its release, or both."""

    board: str
    version: str
    chip: str | None = Field(description="null: the image is gone, or has a fault.")
    size: int | None = Field(description="Bytes.")
    sha256: str | None
    fault: str = Field(description="Why it cannot be offered; empty: it can.")
    release: Release | None = Field(description="null: no device gets it.")
    counts: dict[str, int] = Field(description="Devices by the state of their last attempt.")


class ImageList(BaseModel):
    """All images, by board and version."""

    images: list[Image]


class UploadedImage(BaseModel):
    """An image that was added. No device gets it before it is released."""

    board: str
    version: str
    chip: str
    size: int
    sha256: str


class ReleaseBody(Body):
    """Which devices get an image; what was released of it before is replaced."""

    percent: Annotated[float, Field(ge=0, le=100)] = 0.0
    devices: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=128, pattern=PRINTABLE)]],
        Field(max_length=1_000, default_factory=list),
    ]
    force: bool = Field(default=False, description="Also to devices that run a newer version.")
    retry: bool = Field(default=False, description="Also where it failed too often.")


class UpdateAttempt(BaseModel):
    """One offer to a device. Times are milliseconds since 1970; null: it has not happened."""

    id: int
    device_id: str
    board: str
    version: str
    from_version: str
    forced: bool
    state: str
    reason: str
    size: int
    sent: int
    offered_at: int
    started_at: int | None
    finished_at: int | None
    ended_at: int | None


class AttemptList(BaseModel):
    """Offers, the newest first."""

    attempts: list[UpdateAttempt]


async def list_images(service: Service) -> ImageList:
    """List images, their releases, and how devices fare."""
    found = await service.with_firmware(lambda manager: manager.listing())
    return ImageList(images=[_image(each) for each in found])


async def upload_image(
    service: Service, who: Who, request: Request, board: Filter = ""
) -> UploadedImage:
    """Add an image, the bytes of a ``xiaozhi.bin``. It is read and checked.

    ``board``: refuse an image for another one; empty: the one that it was built for. The whole
    request has to come within 10 s.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != OCTETS:
        raise Problem(415, f"send the image itself, with `Content-Type: {OCTETS}`")
    if service.uploading.locked():
        raise too_many("another upload is under way, try again", 5)
    async with service.uploading:
        path = await asyncio.to_thread(_new_file, service.ports.folder)
        try:
            await _receive(request, path)
            try:
                stored = await service.change_firmware(
                    lambda manager: manager.add(path, board, who.actor)
                )
            except FirmwareError as error:
                detail = str(error).replace(str(path), "the image")
                raise Problem(422, detail) from None
        finally:
            await asyncio.to_thread(path.unlink, missing_ok=True)
    return _uploaded(stored)


async def release_image(
    service: Service, who: Who, board: BoardPath, version: VersionPath, body: ReleaseBody
) -> Release:
    """Offer an image to a part of the devices of its board, and to the listed ones."""
    record = await service.change_firmware(
        lambda manager: manager.release(
            board,
            version,
            who.actor,
            percent=body.percent,
            devices=body.devices,
            force=body.force,
            retry=body.retry,
        )
    )
    return _release(record)


async def pause_release(
    service: Service, who: Who, board: BoardPath, version: VersionPath
) -> Release:
    """Offer a released image to no further device for now."""
    return _release(
        await service.change_firmware(
            lambda manager: manager.pause(board, version, who.actor, paused=True)
        )
    )


async def resume_release(
    service: Service, who: Who, board: BoardPath, version: VersionPath
) -> Release:
    """Offer a paused image again."""
    return _release(
        await service.change_firmware(
            lambda manager: manager.pause(board, version, who.actor, paused=False)
        )
    )


async def remove_image(service: Service, who: Who, board: BoardPath, version: VersionPath) -> None:
    """Take back a release and delete its image."""
    await service.change_firmware(lambda manager: manager.remove(board, version, who.actor))


async def list_attempts(
    service: Service,
    device: Filter = "",
    board: Filter = "",
    version: Filter = "",
    limit: Limit = 100,
) -> AttemptList:
    """List what became of offers, the newest first."""
    found = await service.with_firmware(
        lambda manager: manager.attempts(
            device_id=device, board=board, version=version, limit=limit
        )
    )
    return AttemptList(attempts=[UpdateAttempt(**_known(asdict(each))) for each in found])


def _known(values: dict[str, Any]) -> dict[str, Any]:
    fields = UpdateAttempt.model_fields
    return {name: value for name, value in values.items() if name in fields}


def _new_file(folder: Path) -> Path:
    try:
        make_private_folder(folder)
        descriptor, name = tempfile.mkstemp(prefix=".upload-", dir=folder)
    except OSError as error:
        raise unavailable(f"the image cannot be kept: {error.strerror}") from None
    os.close(descriptor)
    return Path(name)


async def _receive(request: Request, path: Path) -> None:
    """Write the body to a file, piece by piece. Raises Problem."""
    size = 0
    try:
        with path.open("wb") as file:
            async for piece in request.stream():
                size += len(piece)
                if size > MAX_BYTES:
                    raise Problem(
                        413,
                        f"an image has at most {MAX_BYTES} bytes",
                        headers={"Connection": "close"},
                    )
                await asyncio.to_thread(file.write, piece)
    except OSError as error:
        raise unavailable(f"the image cannot be kept: {error.strerror}") from None


def _release(record: ReleaseRecord) -> Release:
    release = record.release
    return Release(
        percent=release.percent,
        devices=sorted(release.devices),
        paused=release.paused,
        forced=release.forced,
        released_at=record.released_at,
    )


def _image(listed: Listed) -> Image:
    image = listed.stored.image if listed.stored else None
    return Image(
        board=listed.board,
        version=listed.version,
        chip=image.chip if image else None,
        size=image.size if image else None,
        sha256=image.sha256 if image else None,
        fault=listed.stored.fault if listed.stored else "the file is gone",
        release=_release(listed.record) if listed.record else None,
        counts=listed.counts,
    )


def _uploaded(stored: StoredImage) -> UploadedImage:
    image = stored.image
    assert image is not None  # noqa: S101 - add() gives checked ones
    return UploadedImage(
        board=stored.board,
        version=stored.version,
        chip=image.chip,
        size=image.size,
        sha256=image.sha256,
    )


def make_routes() -> Routes:
    """Return the routes."""
    routes, scope = Routes("firmware"), SCOPED[Scope.FIRMWARE]
    one = "/firmware/{board}/{version}"
    routes.add("GET", "/firmware", list_images, scope)
    routes.add(
        "POST",
        "/firmware/images",
        upload_image,
        scope,
        status=201,
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {OCTETS: {"schema": {"type": "string", "format": "binary"}}},
            }
        },
    )
    routes.add("PUT", f"{one}/release", release_image, scope, errors=(404, 409))
    routes.add("POST", f"{one}/pause", pause_release, scope, errors=(404, 409))
    routes.add("POST", f"{one}/resume", resume_release, scope, errors=(404, 409))
    routes.add("DELETE", one, remove_image, scope, status=204, errors=(404, 409))
    routes.add("GET", "/firmware/attempts", list_attempts, scope)
    return routes

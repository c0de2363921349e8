"""Devices: listed, claimed, added, renamed, blocked, forgotten; and their tokens."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Final

from pydantic import BaseModel, Field

from vixio.api.access import SCOPED, Service, Who, own_device
from vixio.api.fields import PRINTABLE, Body, DevicePath, Limit, Name, Offset, TokenPath
from vixio.api.routing import Routes
from vixio.api.scopes import Scope
from vixio.api.service import ApiService
from vixio.core.wall_clock import now_ms
from vixio.devices.records import DeviceRecord


class Device(BaseModel):
    """A device. Times are milliseconds since 1970; null: it has not happened."""

    id: str
    name: str
    state: str = Field(description="claimed, unclaimed or blocked")
    online: bool = Field(description="Whether it is connected now.")
    profile: str | None = Field(description="null: none but what the settings say.")
    person: str | None = Field(description="Whom it belongs to; null: nobody.")
    board: str
    chip: str
    firmware: str
    serial: str
    address: str = Field(description="The IP address of its last request.")
    language: str
    features: list[str]
    tools: list[str]
    code: str | None = Field(description="The code that it shows while it waits for its claim.")
    first_seen: int
    last_seen: int = Field(description="0: never, it was added by hand.")
    claimed_at: int | None
    claimed_by: str
    blocked_at: int | None
    block_reason: str
    proves: bool = Field(description="Whether it has to prove that it has the key in its eFuse.")
    verified_at: int | None


class DeviceList(BaseModel):
    """A part of the devices, the last seen first."""

    devices: list[Device]
    total: int


class DeviceToken(BaseModel):
    """A token by which a device connects; the token itself is not stored."""

    id: str
    device_id: str
    client_id: str
    state: str = Field(description="unused, used, expired or revoked")
    issued_at: int
    expires_at: int
    used_at: int | None
    revoked_at: int | None


class DeviceTokenList(BaseModel):
    """The tokens of a device, the newest first."""

    tokens: list[DeviceToken]


class ClaimBody(Body):
    """Which device to claim."""

    code: str = Field(
        description="The six digits that the device shows, or its id.",
        min_length=1,
        max_length=128,
        pattern=PRINTABLE,
        examples=["123456"],
    )
    name: Name = ""


class AddBody(Body):
    """A device that may come."""

    id: Annotated[str, Field(min_length=1, max_length=128, pattern=PRINTABLE)]
    name: Name = ""
    serial: Name = Field(default="", description="The serial number in its eFuse.")
    key: str = Field(
        default="",
        description="The key in its eFuse, in hexadecimal: it has to prove that it has it.",
        pattern="^([0-9A-Fa-f]{64})?$",
    )


class RenameBody(Body):
    """Another name."""

    name: Name


class BlockBody(Body):
    """Why a device is blocked."""

    reason: Name = Field(default="", description="Shown by the device.")


async def list_devices(service: Service, limit: Limit = 100, offset: Offset = 0) -> DeviceList:
    """List the devices, the last seen first."""
    part, total = await service.read(lambda desk: desk.some_devices(limit=limit, offset=offset))
    return DeviceList(devices=[_device(service, each) for each in part], total=total)


async def show_device(service: Service, device: DevicePath) -> Device:
    """Show a device."""
    return _device(service, await service.device(device))


async def show_own(service: Service, who: Who) -> Device:
    """Show a device what is known of itself."""
    return _device(service, await service.device(who.device_id))


async def claim_device(service: Service, who: Who, body: ClaimBody) -> Device:
    """Let the device in that shows a code. Wrong codes are limited."""
    found = await service.at_desk(lambda desk: desk.claim(body.code, who.actor, body.name))
    return _device(service, found)


async def add_device(service: Service, who: Who, body: AddBody) -> Device:
    """Let a device in before its first visit."""
    found = await service.at_desk(
        lambda desk: desk.add(body.id, who.actor, name=body.name, serial=body.serial, key=body.key)
    )
    return _device(service, found)


async def rename_device(service: Service, who: Who, device: DevicePath, body: RenameBody) -> Device:
    """Give a device another name; an empty one takes it away."""
    known = await service.device(device)
    found = await service.at_desk(lambda desk: desk.rename(known.id, body.name, who.actor))
    return _device(service, found)


async def block_device(service: Service, who: Who, device: DevicePath, body: BlockBody) -> Device:
    """Refuse a device; one that is connected is disconnected."""
    found = await service.at_desk(lambda desk: desk.block(device, body.reason, who.actor))
    return _device(service, found)


async def unblock_device(service: Service, who: Who, device: DevicePath) -> Device:
    """Let a device in again, as before."""
    return _device(service, await service.at_desk(lambda desk: desk.unblock(device, who.actor)))


async def forget_device(service: Service, who: Who, device: DevicePath) -> None:
    """Remove a device and its tokens. What it said stays in the memory."""
    await service.at_desk(lambda desk: desk.forget(device, who.actor))


async def list_device_tokens(service: Service, device: DevicePath) -> DeviceTokenList:
    """List the tokens by which a device may connect."""
    found = await service.read(lambda desk: desk.tokens(device))
    now = now_ms()
    return DeviceTokenList(
        tokens=[DeviceToken(**asdict(each), state=each.state(now)) for each in found]
    )


async def revoke_device_tokens(service: Service, who: Who, device: DevicePath) -> None:
    """Make all tokens of a device void; it gets another one when it boots."""
    await service.at_desk(lambda desk: desk.revoke_tokens(device, who.actor))


async def revoke_device_token(service: Service, who: Who, token: TokenPath) -> None:
    """Make a token void; a device that is connected with it is disconnected."""
    await service.at_desk(lambda desk: desk.revoke_token(token, who.actor))


_OF_ITS_OWN: Final = {"online", "proves"}

_FROM_RECORD: Final = Device.model_fields.keys() - _OF_ITS_OWN
"""Fields and properties of a DeviceRecord. Read one by one: ``asdict`` copies all that is in it,
which took the event loop 3 ms for a hundred devices."""


def _device(service: ApiService, record: DeviceRecord) -> Device:
    return Device(
        **{name: getattr(record, name) for name in _FROM_RECORD},
        online=service.online(record.id),
        proves=bool(record.hmac_key),
    )


def make_routes() -> Routes:
    """Return the routes."""
    routes = Routes("devices")
    read, write = SCOPED[Scope.DEVICES_READ], SCOPED[Scope.DEVICES_WRITE]
    one = "/devices/{device}"
    routes.add("GET", "/devices", list_devices, read)
    routes.add("POST", "/devices", add_device, write, status=201, errors=(409,))
    routes.add("POST", "/devices/claim", claim_device, write, errors=(404, 409))
    routes.add("GET", one, show_device, read, errors=(404, 409))
    routes.add("PATCH", one, rename_device, write, errors=(404, 409))
    routes.add("DELETE", one, forget_device, write, status=204, errors=(404, 409))
    routes.add("POST", f"{one}/block", block_device, write, errors=(404, 409))
    routes.add("POST", f"{one}/unblock", unblock_device, write, errors=(404, 409))
    routes.add("GET", f"{one}/tokens", list_device_tokens, write, errors=(404, 409))
    routes.add(
        "DELETE", f"{one}/tokens", revoke_device_tokens, write, status=204, errors=(404, 409)
    )
    routes.add(
        "DELETE",
        "/device-tokens/{token}",
        revoke_device_token,
        write,
        status=204,
        errors=(404, 409),
    )
    routes.add("GET", "/device", show_own, own_device, errors=(404, 409))
    return routes

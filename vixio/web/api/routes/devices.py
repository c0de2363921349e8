"""Devices: listed, claimed, added, renamed, blocked, forgotten; and their tokens."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Literal

from fastapi import Query
from pydantic import BaseModel, Field

from vixio.core.wall_clock import now_ms
from vixio.data.devices.records import Carrier
from vixio.web.api.access import SCOPED, Service, Who, own_device
from vixio.web.api.device_views import (
    Device,
    DeviceList,
    DeviceStream,
    last_turns,
    matching,
    shown,
)
from vixio.web.api.fields import PRINTABLE, Body, DevicePath, Name, Offset, TokenPath
from vixio.web.api.routing import Routes
from vixio.web.api.scopes import Scope

State = Annotated[
    Literal["", "claimed", "unclaimed", "blocked"], Query(description="Empty: any state.")
]

Search = Annotated[
    str,
    Query(
        max_length=128,
        pattern=PRINTABLE,
        description="Words in the name, the id, the board or the place, in any case.",
    ),
]

Online = Annotated[bool | None, Query(description="Whether it is connected. Without it, either.")]

ListLimit = Annotated[int, Query(ge=1, le=1_000)]


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


class ChangeBody(Body):
    """Another name, place or carrier. What is left out stays; an empty one is taken away."""

    name: Name | None = None
    place: Name | None = Field(default=None, description="Over that of its profile.")
    carrier: Carrier | None = Field(
        default=None, description="How it comes from its next start; empty: as the settings say."
    )


class BlockBody(Body):
    """Why a device is blocked."""

    reason: Name = Field(default="", description="Shown by the device.")


async def list_devices(
    service: Service,
    who: Who,
    search: Search = "",
    state: State = "",
    online: Online = None,
    limit: ListLimit = 100,
    offset: Offset = 0,
) -> DeviceStream:
    """List the devices, the last seen first, with what each does now."""
    rows = await service.ports.live.all()
    if not (search.strip() or state or online is not None):
        part, total = await service.read(
            lambda repository: repository.some_devices(limit=limit, offset=offset)
        )
        return DeviceStream(service, who, part, total, rows, await last_turns(service, who, part))
    lines = await service.read(lambda repository: repository.lines())
    ids = await matching(service, lines, rows, search=search, state=state, online=online)
    page = ids[offset : offset + limit]
    part = await service.read(lambda repository: repository.these_devices(page))
    return DeviceStream(service, who, part, len(ids), rows, await last_turns(service, who, part))


async def show_device(service: Service, who: Who, device: DevicePath) -> Device:
    """Show a device, with what it does now."""
    return await shown(service, who, await service.device(device))


async def show_own(service: Service, who: Who) -> Device:
    """Show a device what is known of itself."""
    return await shown(service, who, await service.device(who.device_id))


async def claim_device(service: Service, who: Who, body: ClaimBody) -> Device:
    """Let the device in that shows a code. Wrong codes are limited."""
    found = await service.with_repository(
        lambda repository: repository.claim(body.code, who.actor, body.name)
    )
    return await shown(service, who, found)


async def add_device(service: Service, who: Who, body: AddBody) -> Device:
    """Let a device in before its first visit."""
    found = await service.with_repository(
        lambda repository: repository.add(
            body.id, who.actor, name=body.name, serial=body.serial, key=body.key
        )
    )
    return await shown(service, who, found)


async def change_device(service: Service, who: Who, device: DevicePath, body: ChangeBody) -> Device:
    """Give a device another name, say where it stands, or how it is to come."""
    found = await service.device(device)
    if (carrier := body.carrier) is not None:
        found = await service.with_repository(
            lambda repository: repository.switch(found.id, carrier, who.actor)
        )
    if carrier is None or body.name is not None or body.place is not None:
        found = await service.with_repository(
            lambda repository: repository.rename(found.id, body.name, who.actor, body.place)
        )
    return await shown(service, who, found)


async def block_device(service: Service, who: Who, device: DevicePath, body: BlockBody) -> Device:
    """Refuse a device; one that is connected is disconnected."""
    found = await service.with_repository(
        lambda repository: repository.block(device, body.reason, who.actor)
    )
    return await shown(service, who, found)


async def unblock_device(service: Service, who: Who, device: DevicePath) -> Device:
    """Let a device in again, as before."""
    found = await service.with_repository(lambda repository: repository.unblock(device, who.actor))
    return await shown(service, who, found)


async def forget_device(service: Service, who: Who, device: DevicePath) -> None:
    """Remove a device and its tokens. What it said stays in the memory."""
    await service.with_repository(lambda repository: repository.forget(device, who.actor))


async def list_device_tokens(service: Service, device: DevicePath) -> DeviceTokenList:
    """List the tokens by which a device may connect."""
    found = await service.read(lambda repository: repository.tokens(device))
    now = now_ms()
    return DeviceTokenList(
        tokens=[DeviceToken(**asdict(each), state=each.state(now)) for each in found]
    )


async def revoke_device_tokens(service: Service, who: Who, device: DevicePath) -> None:
    """Make all tokens of a device void; it gets another one when it boots."""
    await service.with_repository(lambda repository: repository.revoke_tokens(device, who.actor))


async def revoke_device_token(service: Service, who: Who, token: TokenPath) -> None:
    """Make a token void; a device that is connected with it is disconnected."""
    await service.with_repository(lambda repository: repository.revoke_token(token, who.actor))


def make_routes() -> Routes:
    """Return the routes."""
    routes = Routes("devices")
    read, write = SCOPED[Scope.DEVICES_READ], SCOPED[Scope.DEVICES_WRITE]
    one = "/devices/{device}"
    routes.add(
        "GET",
        "/devices",
        list_devices,
        read,
        response_class=DeviceStream,
        documented={200: {"model": DeviceList}},
    )
    routes.add("POST", "/devices", add_device, write, status=201, errors=(409,))
    routes.add("POST", "/devices/claim", claim_device, write, errors=(404, 409))
    routes.add("GET", one, show_device, read, errors=(404, 409))
    routes.add("PATCH", one, change_device, write, errors=(404, 409))
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

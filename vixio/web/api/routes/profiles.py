"""Profiles: what an assistant is, and which devices have which."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Path
from pydantic import BaseModel, Field

from vixio.core.errors import ConfigError
from vixio.data.devices.profile_repository import NAME_PATTERN
from vixio.data.devices.records import ProfileRecord
from vixio.web.api.access import SCOPED, Service, Who
from vixio.web.api.fields import PRINTABLE, Body, DevicePath
from vixio.web.api.problems import Problem
from vixio.web.api.routing import Routes
from vixio.web.api.scopes import Scope
from vixio.web.api.service import ApiService

ProfilePath = Annotated[
    str, Path(description="A profile's name.", max_length=64, pattern=PRINTABLE, min_length=1)
]


class Profile(BaseModel):
    """A profile: the keys of a device's section of the settings."""

    name: str
    content: dict[str, Any] = Field(
        description="As it was written: references to environment variables are not expanded."
    )
    changed_at: int


class ProfileList(BaseModel):
    """All profiles, by name."""

    profiles: list[Profile]
    removed: list[str] = Field(description="Names of removed ones that can be restored.")


class ProfileBody(Body):
    """What a profile says."""

    content: dict[str, Any] = Field(examples=[{"language": "de", "wake_reply": "Ja?"}])


class AssignBody(Body):
    """Which profile a device has."""

    profile: Annotated[str, Field(max_length=64, pattern=f"^({NAME_PATTERN})?$")] = Field(
        default="", description="Empty: none, it is served as the settings say."
    )


class Assigned(BaseModel):
    """The profile of a device."""

    device: str
    profile: str | None


async def list_profiles(service: Service) -> ProfileList:
    """List the profiles."""
    found = await service.read(lambda repository: repository.profiles.all())
    removed = await service.read(lambda repository: repository.profiles.removed())
    return ProfileList(profiles=[profile_of(each) for each in found], removed=list(removed))


async def show_profile(service: Service, profile: ProfilePath) -> Profile:
    """Show a profile."""
    return profile_of(await service.read(lambda repository: repository.profiles.find(profile)))


async def share_profile(service: Service, profile: ProfilePath) -> dict[str, Any]:
    """Return the content of a profile as it may be given to others, without secrets."""
    found = await service.read(lambda repository: repository.profiles.find(profile))
    return service.ports.drafts.shareable(found.content)


async def write_profile(
    service: Service, who: Who, profile: ProfilePath, body: ProfileBody
) -> Profile:
    """Write a profile, or replace it. Connected devices follow from their next turn on."""
    await check_content(service, body.content)
    await service.with_repository(
        lambda repository: repository.profiles.put(profile, body.content, who.actor)
    )
    return profile_of(await service.read(lambda repository: repository.profiles.find(profile)))


async def remove_profile(service: Service, who: Who, profile: ProfilePath) -> None:
    """Remove a profile; its devices are served as the settings say."""
    await service.with_repository(lambda repository: repository.profiles.remove(profile, who.actor))


async def assign_profile(
    service: Service, who: Who, device: DevicePath, body: AssignBody
) -> Assigned:
    """Give a device a profile, or take it away."""
    found = await service.with_repository(
        lambda repository: repository.assign(device, body.profile, who.actor)
    )
    return Assigned(device=found.id, profile=found.profile)


async def end_role(service: Service, who: Who, device: DevicePath) -> None:
    """End the role that a device has taken by voice: it has its own profile again."""
    await service.with_repository(lambda repository: repository.take_role(device, "", who.actor))


async def check_content(service: ApiService, content: Mapping[str, Any]) -> None:
    """Raise Problem for what the settings would refuse."""
    try:
        await asyncio.to_thread(service.ports.drafts.check, content)
    except ConfigError as error:
        raise Problem(422, " ".join(str(error).split())) from None


def profile_of(record: ProfileRecord) -> Profile:
    """Return a profile as the API shows it."""
    return Profile(name=record.name, content=dict(record.content), changed_at=record.changed_at)


def make_routes() -> Routes:
    """Return the routes."""
    routes = Routes("profiles")
    scope, one = SCOPED[Scope.PROFILES], "/profiles/{profile}"
    routes.add("GET", "/profiles", list_profiles, scope)
    routes.add("GET", one, show_profile, scope, errors=(404, 409))
    routes.add("GET", f"{one}/file", share_profile, scope, errors=(404, 409))
    routes.add("PUT", one, write_profile, scope, errors=(404, 409))
    routes.add("DELETE", one, remove_profile, scope, status=204, errors=(404, 409))
    routes.add("PUT", "/devices/{device}/profile", assign_profile, scope, errors=(404, 409))
    routes.add("DELETE", "/devices/{device}/role", end_role, scope, status=204, errors=(404, 409))
    return routes

"""What profiles were before, and their return."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

from vixio.web.api.access import SCOPED, Service, Who
from vixio.web.api.fields import Body
from vixio.web.api.routes.profiles import Profile, ProfilePath, check_content, profile_of
from vixio.web.api.routing import Routes
from vixio.web.api.scopes import Scope


class Version(BaseModel):
    """A profile after one of its changes."""

    version: int
    changed_at: int
    actor: str = Field(description="As in the audit trail; empty: not known.")
    removed: bool = Field(description="Whether it was removed then; content is its last one.")
    content: dict[str, Any]


class VersionList(BaseModel):
    """The last versions of a profile, 50 at most, the newest first."""

    versions: list[Version]


class RestoreBody(Body):
    """Which version is to be in force again."""

    version: Annotated[int, Field(ge=1, le=2**31 - 1)]


async def list_versions(service: Service, profile: ProfilePath) -> VersionList:
    """List what a profile was after each change, also one that was removed."""
    found = await service.read(lambda repository: repository.profiles.versions(profile))
    return VersionList(
        versions=[
            Version(
                version=each.version,
                changed_at=each.changed_at,
                actor=each.actor,
                removed=each.removed,
                content=dict(each.content),
            )
            for each in found
        ]
    )


async def restore_profile(
    service: Service, who: Who, profile: ProfilePath, body: RestoreBody
) -> Profile:
    """Write a profile as it was, as a new version. Devices that have it follow."""
    wanted = await service.read(
        lambda repository: repository.profiles.version(profile, body.version)
    )
    await check_content(service, wanted.content)
    await service.with_repository(
        lambda repository: repository.profiles.restore(profile, body.version, who.actor)
    )
    return profile_of(await service.read(lambda repository: repository.profiles.find(profile)))


def make_routes() -> Routes:
    """Return the routes."""
    routes = Routes("profiles")
    scope, one = SCOPED[Scope.PROFILES], "/profiles/{profile}"
    routes.add("GET", f"{one}/versions", list_versions, scope, errors=(404, 409))
    routes.add("POST", f"{one}/restore", restore_profile, scope, errors=(404, 409))
    return routes

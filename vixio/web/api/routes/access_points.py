"""Access points: where users' own MCP servers connect, one address of a profile or a device."""

from __future__ import annotations

import asyncio

from pydantic import BaseModel, Field

from vixio.core.tools.source import Scope as Whose
from vixio.data.devices.access_points import AccessPoint, address
from vixio.web.api.access import SCOPED, Service, Who
from vixio.web.api.fields import DevicePath
from vixio.web.api.routes.profiles import ProfilePath
from vixio.web.api.routes.server import code_picture
from vixio.web.api.routing import Routes
from vixio.web.api.scopes import Scope
from vixio.web.api.service import ApiService

MAX_DESCRIPTION = 300


class ServerTool(BaseModel):
    """A tool of a connected server."""

    name: str
    description: str = Field(description="Clipped.")


class ToolServer(BaseModel):
    """An MCP server that is connected now."""

    name: str = Field(description="As patterns of tools have it, before a slash: `profile/weather`")
    tools: list[ServerTool]


class AccessPointView(BaseModel):
    """The access point of a profile or a device."""

    profile: str | None
    device: str | None
    exists: bool = Field(description="Whether there is an address.")
    created_at: int | None = Field(description="Milliseconds since 1970.")
    created_by: str
    servers: list[ToolServer] = Field(description="Connected now, to whichever process.")


class NewAccessPoint(AccessPointView):
    """An access point that was just made."""

    url: str = Field(description="The address with its token, shown this once.")
    url_of_others: str = Field(
        description="The same on the path of xiaozhi-esp32-server, for programs that insist on it."
    )
    picture: str = Field(description="The address as a QR code, SVG.")


class AccessPointList(BaseModel):
    """All access points, the newest first."""

    access_points: list[AccessPointView]


async def list_points(service: Service) -> AccessPointList:
    """List the access points, with the servers that are connected and their tools."""
    found = await service.read(lambda repository: repository.access_points.all())
    return AccessPointList(access_points=[_view(service, each.scope, each) for each in found])


async def show_of_profile(service: Service, profile: ProfilePath) -> AccessPointView:
    """Show the access point of a profile."""
    await service.read(lambda repository: repository.profiles.find(profile))
    return await _show(service, Whose(profile=profile))


async def make_of_profile(service: Service, who: Who, profile: ProfilePath) -> NewAccessPoint:
    """Make the address of a profile. An earlier one is void, its connections are closed."""
    return await _make(service, Whose(profile=profile), who.actor)


async def revoke_of_profile(service: Service, who: Who, profile: ProfilePath) -> None:
    """Make the address of a profile void; its connections are closed."""
    await _revoke(service, Whose(profile=profile), who.actor)


async def show_of_device(service: Service, device: DevicePath) -> AccessPointView:
    """Show the access point of a device."""
    return await _show(service, Whose(device=(await service.device(device)).id))


async def make_of_device(service: Service, who: Who, device: DevicePath) -> NewAccessPoint:
    """Make the address of a device. An earlier one is void, its connections are closed."""
    return await _make(service, Whose(device=(await service.device(device)).id), who.actor)


async def revoke_of_device(service: Service, who: Who, device: DevicePath) -> None:
    """Make the address of a device void; its connections are closed."""
    await _revoke(service, Whose(device=(await service.device(device)).id), who.actor)


async def _show(service: ApiService, scope: Whose) -> AccessPointView:
    found = await service.read(lambda repository: repository.access_points.all())
    return _view(service, scope, next((each for each in found if each.scope == scope), None))


async def _make(service: ApiService, scope: Whose, actor: str) -> NewAccessPoint:
    point, token = await service.with_repository(
        lambda repository: repository.access_points.create(scope, actor)
    )
    service.ports.access.changed()
    ota = service.ports.view.facts().ota_url
    url = address(ota, token)
    picture = await asyncio.to_thread(code_picture, url)
    return NewAccessPoint(
        **_view(service, scope, point).model_dump(),
        url=url,
        url_of_others=address(ota, token, "mcp_endpoint/mcp/"),
        picture=picture.decode(),
    )


async def _revoke(service: ApiService, scope: Whose, actor: str) -> None:
    await service.with_repository(lambda repository: repository.access_points.revoke(scope, actor))
    service.ports.access.changed()


def _view(service: ApiService, scope: Whose, point: AccessPoint | None) -> AccessPointView:
    servers = service.ports.access.servers(scope) if point is not None else ()
    return AccessPointView(
        profile=scope.profile or None,
        device=scope.device or None,
        exists=point is not None,
        created_at=point.created_at if point is not None else None,
        created_by=point.created_by if point is not None else "",
        servers=[
            ToolServer(
                name=each.name,
                tools=[
                    ServerTool(name=tool.name, description=tool.description[:MAX_DESCRIPTION])
                    for tool in each.tools()
                ],
            )
            for each in servers
        ],
    )


def make_routes() -> Routes:
    """Return the routes."""
    routes, profiles = Routes("access points"), SCOPED[Scope.PROFILES]
    reads, writes = SCOPED[Scope.DEVICES_READ], SCOPED[Scope.DEVICES_WRITE]
    of_profile, of_device = "/profiles/{profile}/access-point", "/devices/{device}/access-point"
    known = (404, 409)
    routes.add("GET", "/access-points", list_points, profiles)
    routes.add("GET", of_profile, show_of_profile, profiles, errors=known)
    routes.add("POST", of_profile, make_of_profile, profiles, status=201, errors=known)
    routes.add("DELETE", of_profile, revoke_of_profile, profiles, status=204, errors=known)
    routes.add("GET", of_device, show_of_device, reads, errors=known)
    routes.add("POST", of_device, make_of_device, writes, status=201, errors=known)
    routes.add("DELETE", of_device, revoke_of_device, writes, status=204, errors=known)
    return routes

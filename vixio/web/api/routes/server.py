"""The server itself: how it is, its parts, its log, who changed what, the document of the API."""

from __future__ import annotations

import asyncio
import io
import json
from typing import Annotated, Any, Final

from fastapi import Query
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from vixio import __version__
from vixio.web.api.access import SCOPED, Service, public
from vixio.web.api.fields import Body, Limit
from vixio.web.api.problems import Problem, unavailable
from vixio.web.api.routing import Routes
from vixio.web.api.scopes import Scope
from vixio.web.api.server_view import (
    CheckBusy,
    CheckEnded,
    LevelName,
    Load,
    LogTail,
    PartList,
    PartName,
    SettingsInForce,
    TriedPart,
)

SVG: Final = "image/svg+xml"

Minutes = Annotated[int, Query(ge=1, le=120)]
After = Annotated[int, Query(ge=0, le=2**53, description="`next` of the last answer.")]


class ServerStatus(BaseModel):
    """How the server is; the health page has more."""

    version: str
    status: str = Field(description="ok, or what is wrong")
    connected: int = Field(description="Devices that are connected now, to all its processes.")
    devices_known: int
    devices_claimed: int
    ota_url: str = Field(description="To be entered on a device.")
    uptime_s: float = Field(description="Of the process that answers.")
    processes: int
    language: str = Field(description="Of the assistant, where a device has none of its own.")
    access: str = Field(description="Which devices may use it: open, allow_list or activation.")
    mqtt: str = Field(
        description="Which devices come over MQTT, where they have no carrier of their own: all, "
        "or `chosen`: none; empty: the server has no MQTT."
    )
    troubles: dict[str, str] = Field(
        description="Checks of the readiness page that the process which answers does not pass, "
        "as `database`, with their reasons."
    )


class AuditEntry(BaseModel):
    """A change."""

    id: int
    at: int = Field(description="Milliseconds since 1970.")
    actor: str = Field(description="`command:USER` or `api:TOKEN`")
    action: str
    target: str = Field(description="`device:ID`, `token:ID`, `api-token:ID`, `firmware:ID`, ...")
    detail: dict[str, Any]


class Audit(BaseModel):
    """The last changes, the newest last."""

    changes: list[AuditEntry]


class CheckBody(Body):
    """What to try."""

    part: PartName | None = Field(default=None, description="null: all of them.")


_ALL: Final = CheckBody()


class CheckResult(BaseModel):
    """What became of each part that was tried."""

    parts: list[TriedPart]


async def show_server(service: Service) -> ServerStatus:
    """Show how the server is."""
    found = await service.ports.status()
    facts = service.ports.view.facts()
    return ServerStatus(
        ota_url=facts.ota_url,
        uptime_s=facts.uptime_s,
        processes=max(1, len(found.get("workers", ()))),
        language=facts.language,
        access=facts.access,
        mqtt=facts.mqtt,
        troubles=facts.troubles,
        version=__version__,
        status=str(found.get("status", "")),
        **{
            name: int(found.get(name, 0))
            for name in ("connected", "devices_known", "devices_claimed")
        },
    )


async def show_ota_code(service: Service) -> Response:
    """Return the OTA URL as a QR code, to be read with a phone beside the device."""
    picture = await asyncio.to_thread(code_picture, service.ports.view.facts().ota_url)
    return Response(picture, media_type=SVG)


def code_picture(text: str) -> bytes:
    """Return a text as a QR code: black on white, with the border of the norm."""
    import segno  # a few milliseconds, when the first code is asked for

    out = io.BytesIO()
    segno.make(text, error="m", micro=False).save(out, kind="svg", border=4, light="#fff", scale=4)
    return out.getvalue()


async def show_load(service: Service, minutes: Minutes = 60) -> Load:
    """Show devices, turns, loop lag, memory and CPU, a sample every 10 s, of all processes."""
    return await service.ports.view.load(minutes)


async def show_log(
    service: Service, after: After = 0, level: LevelName = "DEBUG", limit: Limit = 200
) -> LogTail:
    """Show the last lines of the log, without private content, of this level and above."""
    return await service.ports.view.log(after, level, limit)


async def show_settings(service: Service) -> SettingsInForce:
    """Show the settings of the process that answers, with all defaults and without secrets."""
    return await service.ports.view.settings()


async def list_parts(service: Service) -> PartList:
    """List the providers and tool sources of the process that answers, from what it knows."""
    return service.ports.view.parts()


async def check_parts(service: Service, body: CheckBody = _ALL) -> CheckResult:
    """Use each part of the default profile once, as a turn would; services are really asked.

    Takes up to 90 seconds. One trial at a time.
    """
    try:
        found = await service.ports.view.check(body.part)
    except CheckBusy:
        raise Problem(409, "the parts are being tried already: wait for the answer") from None
    except CheckEnded:
        raise unavailable("the server stops, try again") from None
    return CheckResult(parts=list(found))


async def show_audit(service: Service, limit: Limit = 50) -> Audit:
    """Show who changed what, the newest last."""
    changes = await service.read(lambda repository: repository.audit(limit))
    return Audit(
        changes=[
            AuditEntry(
                id=each.id,
                at=each.at,
                actor=each.actor,
                action=each.action,
                target=each.target,
                detail=json.loads(each.detail),
            )
            for each in changes
        ]
    )


async def show_document(request: Request) -> Response:
    """Return this document."""
    document: bytes = await request.app.state.document()
    return Response(document, media_type="application/json")


def make_routes() -> Routes:
    """Return the routes."""
    routes, admin = Routes("server"), SCOPED[Scope.ADMIN]
    routes.add("GET", "/server", show_server, SCOPED[Scope.DEVICES_READ])
    routes.add(
        "GET",
        "/server/ota-qr.svg",
        show_ota_code,
        SCOPED[Scope.DEVICES_READ],
        response_class=Response,
        documented={200: {"description": "The picture", "content": {SVG: {}}}},
    )
    routes.add("GET", "/server/load", show_load, SCOPED[Scope.DEVICES_READ])
    routes.add("GET", "/server/log", show_log, admin)
    routes.add("GET", "/server/settings", show_settings, admin)
    routes.add("GET", "/server/parts", list_parts, admin)
    routes.add("POST", "/server/check", check_parts, admin, errors=(409,))
    routes.add("GET", "/audit", show_audit, admin)
    routes.add("GET", "/openapi.json", show_document, public)
    return routes

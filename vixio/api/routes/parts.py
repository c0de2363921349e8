"""The parts of the server: how they are, and a trial of each."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, Field

from vixio.api.access import SCOPED, Service
from vixio.api.fields import Body
from vixio.api.problems import Problem, unavailable
from vixio.api.routing import Routes
from vixio.api.scopes import Scope
from vixio.api.server_view import CheckBusy, CheckEnded, PartList, PartName, TriedPart


class CheckBody(Body):
    """What to try."""

    part: PartName | None = Field(default=None, description="null: all of them.")


_ALL: Final = CheckBody()


class CheckResult(BaseModel):
    """What became of each part that was tried."""

    parts: list[TriedPart]


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


def make_routes() -> Routes:
    """Return the routes."""
    routes, admin = Routes("server"), SCOPED[Scope.ADMIN]
    routes.add("GET", "/server/parts", list_parts, admin)
    routes.add("POST", "/server/check", check_parts, admin, errors=(409,))
    return routes

"""The load of the server over the last two hours."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from vixio.api.access import SCOPED, Service
from vixio.api.routing import Routes
from vixio.api.scopes import Scope
from vixio.api.server_view import Load

Minutes = Annotated[int, Query(ge=1, le=120)]


async def show_load(service: Service, minutes: Minutes = 60) -> Load:
    """Show devices, turns, loop lag, memory and CPU, a sample every 10 s, of all processes."""
    return await service.ports.view.load(minutes)


def make_routes() -> Routes:
    """Return the routes."""
    routes = Routes("server")
    routes.add("GET", "/server/load", show_load, SCOPED[Scope.DEVICES_READ])
    return routes

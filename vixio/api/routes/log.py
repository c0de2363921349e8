"""The last lines of the server's log."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from vixio.api.access import SCOPED, Service
from vixio.api.fields import Limit
from vixio.api.routing import Routes
from vixio.api.scopes import Scope
from vixio.api.server_view import LevelName, LogTail

After = Annotated[int, Query(ge=0, le=2**53, description="`next` of the last answer.")]


async def show_log(
    service: Service, after: After = 0, level: LevelName = "DEBUG", limit: Limit = 200
) -> LogTail:
    """Show the last lines of the log, without private content, of this level and above."""
    return await service.ports.view.log(after, level, limit)


def make_routes() -> Routes:
    """Return the routes."""
    routes = Routes("server")
    routes.add("GET", "/server/log", show_log, SCOPED[Scope.ADMIN])
    return routes

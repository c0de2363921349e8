"""Assembles the ASGI application from its routes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vixio.core.cluster import Cluster
from vixio.http.ota import OtaSettings
from vixio.http.routes.health import Status, health_routes
from vixio.http.routes.ota import OtaEndpoint

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.routing import Route


def create_http_app(
    settings: OtaSettings,
    status: Status = dict,
    cluster: Cluster | None = None,
    more: Sequence[Route] = (),
) -> Starlette:
    """Return the ASGI application. ``status`` gives the health page its gauges.

    ``more``: further routes, as the one for cameras' photos. ``cluster``: the processes that
    share this one's limit of OTA requests.
    """
    from starlette.applications import Starlette

    return Starlette(
        routes=[
            *OtaEndpoint(settings, cluster).routes(),
            *health_routes(status, settings.counters),
            *more,
        ]
    )

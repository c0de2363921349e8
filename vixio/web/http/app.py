"""Assembles the ASGI application from its routes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vixio.transports.admission.admission import Admission
from vixio.transports.admission.hosts import HostPolicy
from vixio.transports.admission.origin import OriginPolicy
from vixio.web.http.firmware_offer import FirmwareOffers
from vixio.web.http.ota import OtaSettings
from vixio.web.http.routes.front import front_routes
from vixio.web.http.routes.health import Status, health_routes
from vixio.web.http.routes.ota import OtaEndpoint

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.routing import Route


def create_http_app(
    settings: OtaSettings,
    status: Status = dict,
    admission: Admission | None = None,
    more: Sequence[Route] = (),
    offers: FirmwareOffers | None = None,
    origins: OriginPolicy | None = None,
    console: bool = False,
    names: HostPolicy | None = None,
) -> Starlette:
    """Return the ASGI application. ``status`` gives the health page its gauges.

    ``admission``: limits, tokens and counters, which the transports have too. ``more``: further
    routes, as the one for cameras' photos. ``offers``: of firmware; None: there are none.
    ``origins``: which web pages may change things; None: those of the server's own origin.
    ``console``: whether ``more`` has it, for the page at ``/``. ``names``: of the server; None: its
    addresses and local names alone.
    """
    from starlette.applications import Starlette
    from starlette.middleware import Middleware

    from vixio.web.http.page_guard import HostGuard, PageGuard

    admission = admission or Admission()
    return Starlette(
        routes=[
            *OtaEndpoint(settings, admission, offers).routes(),
            *health_routes(status, admission.counters),
            *front_routes(settings, admission.proxies, console=console),
            *more,
        ],
        middleware=[
            Middleware(HostGuard, names or HostPolicy(), admission.counters),
            Middleware(PageGuard, origins or OriginPolicy(), admission.counters),
        ],
    )

"""Makes the HTTP server of the settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from vixio.cluster.context import ClusterContext
from vixio.composition.ports import ota_settings, own_names
from vixio.settings import Settings
from vixio.transports.admission.admission import Admission
from vixio.transports.admission.hosts import HostPolicy
from vixio.transports.admission.origin import OriginPolicy
from vixio.web.http.app import create_http_app
from vixio.web.http.firmware_offer import FirmwareOffers
from vixio.web.http.routes.health import Status
from vixio.web.http.server import HttpServer
from vixio.web.http.upgrade import Upgrades

if TYPE_CHECKING:
    from starlette.routing import Route


def make_http(
    settings: Callable[[], Settings],
    device_port: int,
    health: Status,
    admission: Admission,
    offers: FirmwareOffers,
    routes: Sequence[Route],
    context: ClusterContext,
    upgrades: Upgrades,
    mqtt_port: Callable[[], int] | None = None,
) -> HttpServer:
    """Return the server, not started. ``settings`` returns those in effect.

    ``device_port``: of the WebSocket. ``routes``: beside OTA, health and the page at ``/``.
    ``upgrades``: the WebSockets on the HTTP port. ``mqtt_port``: as of :func:`ota_settings`.
    """
    server = settings().server
    app = create_http_app(
        ota_settings(settings, device_port, context.balanced, mqtt_port),
        health,
        admission,
        offers=offers,
        more=[*routes, *upgrades.routes()],
        origins=own_origins(settings()),
        console=settings().api.serves_console,
        names=HostPolicy(own_names(settings())),
    )
    return HttpServer(
        app,
        server.host,
        server.http_port,
        admission=admission,
        share_port=context.share_ports,
        upgrades=upgrades,
    )


def own_origins(settings: Settings) -> OriginPolicy:
    """Return which web pages may change things over HTTP: never every page."""
    return OriginPolicy(settings.server.allowed_origins)

"""The settings in force."""

from __future__ import annotations

from vixio.api.access import SCOPED, Service
from vixio.api.routing import Routes
from vixio.api.scopes import Scope
from vixio.api.server_view import SettingsInForce


async def show_settings(service: Service) -> SettingsInForce:
    """Show the settings of the process that answers, with all defaults and without secrets."""
    return await service.ports.view.settings()


def make_routes() -> Routes:
    """Return the routes."""
    routes = Routes("server")
    routes.add("GET", "/server/settings", show_settings, SCOPED[Scope.ADMIN])
    return routes

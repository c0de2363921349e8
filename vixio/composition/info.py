"""The facts of a listening server, for its banner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vixio.cluster.context import ServerInfo
from vixio.composition.web import has_console

if TYPE_CHECKING:
    from vixio.server import Server


def about(app: Server) -> ServerInfo:
    """Return the facts of a listening server for its banner."""
    server, a2a = app.settings.server, app.settings.a2a
    return ServerInfo(
        host=server.public_host or server.host,
        port=app.transport.port,
        http_port=app.http.port if app.http is not None else server.http_port,
        providers=app.providers.names(),
        language=app.settings.assistant.language,
        tokens=server.tokens,
        access=server.access,
        public_url=server.public_url,
        console=has_console(app.settings),
        a2a_without_token=a2a is not None and a2a.loopback_without_token,
    )

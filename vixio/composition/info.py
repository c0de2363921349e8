"""What a listening server says of itself to who starts it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vixio.cluster.context import ServerInfo
from vixio.core.errors import VixioError

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
        console=app.settings.api.serves_console,
        mqtt_port=app.mqtt.port if app.mqtt is not None else 0,
        a2a_without_token=a2a is not None and a2a.loopback_without_token,
    )


async def sign_in_link(app: Server) -> str:
    """Return the text of a link that signs in to the console; empty if there can be none.

    It is kept in the database for whichever process answers it.
    """
    from vixio.web.api.keys import Keys

    if not (app.settings.api.serves_console and app.settings.data.kept):
        return ""
    try:
        return await app.registry.use(lambda database: Keys(database).make_link("start"))
    except VixioError:  # the log says what is wrong with the database
        return ""

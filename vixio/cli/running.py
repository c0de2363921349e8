"""What commands ask of the server that runs with the same settings, over its API."""

from __future__ import annotations

import asyncio
import json
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from vixio.cli.banner import EVERY_ADDRESS
from vixio.cli.registry import actor
from vixio.core.errors import ConfigError

TIMEOUT_S: Final = 70.0
"""More than a tool of a device may take."""


def ask_device(
    config: Path | None, device: str, what: str, body: bytes, kind: str = "application/json"
) -> dict[str, Any]:
    """Have the running server do something with a device; return the answer, empty for none.

    ``device``: its id or its name. ``what``: the end of the route. It is asked as the user of this
    machine, whose database it is. Raises VixioError: one line, the server's where it refuses.
    """
    from vixio.cli.speech import quiet_settings
    from vixio.composition.registry import opened_database
    from vixio.web.api.keys import Keys

    settings = quiet_settings(config)
    host, port = settings.server.host, settings.server.http_port
    connection = HTTPConnection("127.0.0.1" if host in EVERY_ADDRESS else host, port)
    connection.timeout = TIMEOUT_S

    def ask(token: str) -> tuple[int, bytes]:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": kind}
        connection.request(
            "POST", f"/api/v1/devices/{quote(device, safe='')}/{what}", body, headers
        )
        answer = connection.getresponse()
        return answer.status, answer.read()

    async def asked() -> tuple[int, bytes]:
        async with opened_database(settings) as database:
            keys = Keys(database)
            login, token = await keys.open_session(user_agent="vixio devices", user=actor())
            try:
                return await asyncio.to_thread(ask, token)
            finally:
                await keys.end_session(login.id, actor())

    try:
        status, said = asyncio.run(asked())
        answer = json.loads(said or b"{}")
    except (OSError, HTTPException, ValueError) as error:
        raise ConfigError(f"no Vixio server answers at {host}:{port}: {error}") from None
    finally:
        connection.close()
    if status >= 400:
        raise ConfigError(str(answer.get("detail", f"the server answers {status}")))
    return dict(answer)

"""The route at which a broker asks whether a device may connect: EMQX's HTTP authenticator.

https://docs.emqx.com/en/emqx/v5.8/access-control/authn/http.html: a POST with a JSON body, answered
by 200 and ``result``; ``deny`` ends the chain of authenticators, 4xx passes on to the next.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from vixio.core.metrics import Counters
from vixio.core.strict_json import parse_json

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

AUTH_PATH: Final = "/mqtt/auth"
MAX_BODY_BYTES: Final = 8 * 1024

MayConnect = Callable[[str, str, str, str], bool]
"""Gets client id, user name, password and address."""


def mqtt_routes(may_connect: MayConnect, secret: str, counters: Counters) -> Sequence[Route]:
    """Return the route. ``secret``: what the broker states, as a bearer token.

    Counters: ``http.mqtt.allowed``, ``http.mqtt.denied``, ``http.mqtt.refused`` (no or another
    secret, or no such question).
    """
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    expected = f"Bearer {secret}".encode()

    async def authenticate(request: Request) -> Response:
        stated = request.headers.get("authorization", "").encode()
        asked = await _read(request) if hmac.compare_digest(stated, expected) else None
        if asked is None:
            counters.add("http.mqtt.refused")
            return JSONResponse({"result": "deny"}, status_code=403)
        allowed = may_connect(*asked)
        counters.add(f"http.mqtt.{'allowed' if allowed else 'denied'}")
        return JSONResponse({"result": "allow" if allowed else "deny", "is_superuser": False})

    return [Route(AUTH_PATH, authenticate, methods=["POST"])]


async def _read(request: Request) -> tuple[str, str, str, str] | None:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MAX_BODY_BYTES:
            return None
    try:
        found: Any = parse_json(bytes(body))
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    client_id, username, password, peer = (
        str(found.get(key) or "") for key in ("clientid", "username", "password", "peerhost")
    )
    return client_id, username, password, peer

"""The page at ``/``: what this server is and what to do. A browser is sent to the console."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from vixio import __version__
from vixio.transports.admission.addresses import Proxies
from vixio.web.http.ota import OtaSettings
from vixio.web.http.public_url import public_url
from vixio.web.http.routes.health import HEALTH_PATH
from vixio.web.http.routes.ota import own_host, peer

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

_HEADERS: Final[Mapping[str, str]] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}

CONSOLE_PATH: Final = "/console/"

_CONSOLE: Final = "console    {}\n"

_PORT_DIGITS: Final = 6

_TEXT: Final = """\
Vixio {version}: a voice-assistant server for ESP32 xiaozhi devices. It runs.

OTA URL    {ota}
{console}health     {health}

To use it, enter the OTA URL on the device: on the page for its Wi-Fi, which the device shows when
it is set up, under "advanced". The device asks it at each start where its server is.{local}

No device at hand? In a terminal of the server's machine:
    firmware-test-client talk --ota {ota} --say "what time is it"
"""

_LOCAL: Final = """

A device cannot use this address, which only this machine has: open this page by the machine's
address in your network, which `vixio serve` prints when it starts."""


def front_routes(
    settings: OtaSettings, proxies: Proxies, *, console: bool = False
) -> Sequence[Route]:
    """Return the page's route. ``console``: whether there is one."""
    from starlette.responses import PlainTextResponse, RedirectResponse
    from starlette.routing import Route

    async def front(request: Request) -> Response:
        if console and "text/html" in request.headers.get("accept", ""):
            return RedirectResponse(CONSOLE_PATH.lstrip("/"), 303, dict(_HEADERS))
        ota = _url(request, settings, proxies, settings.ota_path)
        text = _TEXT.format(
            version=__version__,
            ota=ota,
            console=_CONSOLE.format(_url(request, settings, proxies, CONSOLE_PATH))
            if console
            else "",
            health=_url(request, settings, proxies, HEALTH_PATH),
            local=_LOCAL if _is_local(ota) else "",
        )
        return PlainTextResponse(text, headers=dict(_HEADERS))

    return [Route("/", front, methods=["GET"])]


def _url(request: Request, settings: OtaSettings, proxies: Proxies, path: str) -> str:
    """Return the URL of ``path`` at the address under which this page was opened."""
    if settings.public_url:
        return f"{settings.public_url}{path}"
    server = request.scope.get("server") or ("127.0.0.1", 80)
    host, colon, given = request.headers.get("host", "").rpartition(":")
    port = int(given) if colon and given.isdecimal() and len(given) < _PORT_DIGITS else 80
    if not host and not given:
        port = server[1]
    return public_url(
        request.headers,
        own_host(request),
        schemes=("http", "https"),
        port=port,
        path=path,
        trust_forwarded=settings.trust_forwarded or proxies.trusts(peer(request)),
    )


def _is_local(url: str) -> bool:
    return re.match(r"https?://(localhost|127\.|\[::1\])", url) is not None

"""Keeps web pages of other origins from changing anything over HTTP.

A browser sends a page's forms and plain posts anywhere, without asking the server first, but states
the page's origin. Devices and programs state none. And keeps pages of a name that is made to
resolve to this server (DNS rebinding) from reading its state.
"""

from __future__ import annotations

from typing import Final

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from vixio.core.metrics import Counters
from vixio.transports.admission.hosts import HostPolicy
from vixio.transports.admission.origin import OriginPolicy

HARMLESS: Final = ("GET", "HEAD", "OPTIONS")

_HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

_REFUSED: Final = {
    "title": "Forbidden",
    "status": 403,
    "detail": "web pages of another origin may not change anything here; to allow one, list its "
    "origin in server.allowed_origins",
}
"""Problem details (RFC 9457), as the API has them."""


_STATE: Final = frozenset({"/healthz", "/readyz", "/metrics"})
"""Pages that a script of a web page could read by DNS rebinding: they need no token."""

_NO_NAME: Final = {
    "title": "Forbidden",
    "status": 403,
    "detail": "this name is none of the server's: use its address, or list the name in api.hosts",
}


class HostGuard:
    """Passes requests on to ``app``, unless one for the server's state names another host.

    A request without ``Host`` comes from no browser.
    """

    def __init__(self, app: ASGIApp, names: HostPolicy, counters: Counters) -> None:
        self._app = app
        self._names = names
        self._counters = counters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http" and scope["path"] in _STATE:
            hosts = filter(None, Headers(scope=scope).getlist("host"))
            if not all(map(self._names.allows, hosts)):
                self._counters.add("http.refused.host")
                answer = JSONResponse(_NO_NAME, 403, _HEADERS, "application/problem+json")
                await answer(scope, receive, send)
                return
        await self._app(scope, receive, send)


_DEVICES: Final = ("/xiaozhi/ota", "/mcp/vision/")
"""Paths that a device asks, and so does a client that is a web page."""


class _CrossOrigin(CORSMiddleware):
    """Lets pages of listed origins read the answers to devices (Fetch standard, "CORS protocol").

    They send headers of their own (Device-Id, Client-Id, Authorization), for which a browser asks
    first, and private networks may be asked from public pages. Cookies are not among them.
    """

    def __init__(self, app: ASGIApp, origins: OriginPolicy) -> None:
        super().__init__(
            app,
            allow_methods=("GET", "HEAD", "POST"),
            allow_headers=("*",),
            allow_private_network=True,
        )
        self._origins = origins

    def is_allowed_origin(self, origin: str) -> bool:
        """Return whether ``origin`` is listed."""
        return self._origins.allows((origin,), ())


class PageGuard:
    """Passes requests on to ``app``, unless a page of a foreign origin makes them."""

    def __init__(self, app: ASGIApp, origins: OriginPolicy, counters: Counters) -> None:
        self._app = app
        self._of_devices = _CrossOrigin(app, origins)
        self._origins = origins
        self._counters = counters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http" and scope["method"] not in HARMLESS:
            headers = Headers(scope=scope)
            if not self._origins.allows(headers.getlist("origin"), headers.getlist("host")):
                self._counters.add("http.refused.origin")
                answer = JSONResponse(_REFUSED, 403, _HEADERS, "application/problem+json")
                await answer(scope, receive, send)
                return
        by_page = scope["type"] == "http" and scope["path"].startswith(_DEVICES)
        await (self._of_devices if by_page else self._app)(scope, receive, send)

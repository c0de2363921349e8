"""The metrics route, for a Prometheus server in the same network."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from vixio.transports.admission.addresses import Networks, Proxies
from vixio.web.http.routes.ota import peer

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

METRICS_PATH = "/metrics"

FORWARDED = ("x-forwarded-for", "forwarded")

Scrape = Callable[[str], Awaitable[tuple[bytes, str]]]
"""Gets the header Accept; returns the page and its content type. Raises VixioError if there is
none, for a reason that the caller may read."""


def metrics_routes(scrape: Scrape, allowed: Networks, proxies: Proxies) -> Sequence[Route]:
    """Return the route of the metrics. ``allowed``: the networks that may read them."""
    from starlette.responses import PlainTextResponse, Response
    from starlette.routing import Route

    from vixio.core.errors import VixioError

    async def metrics(request: Request) -> Response:
        if not _admitted(request, allowed, proxies):
            return PlainTextResponse(
                "This address may not read the metrics, see metrics.allow in the settings.\n", 403
            )
        try:
            page, content_type = await scrape(request.headers.get("accept", ""))
        except VixioError as error:
            return PlainTextResponse(f"{error}\n", 503)
        return Response(page, headers={"Content-Type": content_type, "Cache-Control": "no-store"})

    return [Route(METRICS_PATH, metrics, methods=["GET"])]


def _admitted(request: Request, allowed: Networks, proxies: Proxies) -> bool:
    """Whether the client may read them. One behind a proxy that is not ours is unknown: no."""
    address = peer(request)
    forwarded = request.headers.getlist("x-forwarded-for")
    if any(name in request.headers for name in FORWARDED):
        address = proxies.client(address, forwarded) if proxies.trusts(address) else None
    return address is not None and address in allowed
